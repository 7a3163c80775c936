"""Parameters of telemetry devices (`--telemetry-params`), under Rally's names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct, field

from pacenote.errors import UsageError

ParameterType = Literal["seconds", "flag", "names", "text"]

_FORMS = {
    "seconds": "a number of seconds above 0, such as 0.5",
    "flag": "true or false",
    "names": "a name, names separated by commas, or a list",
    "text": "text",
}
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}

Names = tuple[str, ...]


class DeviceParameter(Struct, frozen=True):
    """A parameter of a device."""

    name: str
    """Its name, such as `node-stats-sample-interval`."""

    type: ParameterType
    """The form of its value."""

    default: object
    """Its value if the user gives none."""

    meaning: str
    """What it does, in a few words for `pacenote list telemetry`."""

    @property
    def default_text(self) -> str:
        """The default as a user would write it."""
        default = self.default
        if isinstance(default, bool):
            return str(default).lower()
        if isinstance(default, tuple) or not default:
            return "all" if self.type == "names" else "none"
        return f"{default:g}" if isinstance(default, float) else str(default)

    def value_of(self, given: object) -> object:
        """Returns a given value in the type of the parameter. Raises UsageError."""
        value = _CONVERSIONS[self.type](given)
        if value is None:
            raise UsageError(
                f"{self.name} in --telemetry-params cannot be {given!r}", hint=f"give {_FORMS[self.type]}"
            )
        return value


class TelemetryParams(Struct, frozen=True):
    """The values of the parameters of a race's devices."""

    values: Mapping[str, object] = field(default_factory=dict)
    """Values that the user gives, by name of the parameter."""

    def seconds(self, parameter: DeviceParameter) -> float:
        """Returns the value of a parameter of type `seconds`."""
        value = self._value(parameter)
        assert isinstance(value, float)
        return value

    def flag(self, parameter: DeviceParameter) -> bool:
        """Returns the value of a parameter of type `flag`."""
        value = self._value(parameter)
        assert isinstance(value, bool)
        return value

    def names(self, parameter: DeviceParameter) -> Names:
        """Returns the value of a parameter of type `names`; empty for all."""
        value = self._value(parameter)
        assert isinstance(value, tuple)
        return value

    def text(self, parameter: DeviceParameter) -> str:
        """Returns the value of a parameter of type `text`."""
        value = self._value(parameter)
        assert isinstance(value, str)
        return value

    def _value(self, parameter: DeviceParameter) -> object:
        return parameter.value_of(self.values.get(parameter.name, parameter.default))


def _listed(value: object) -> Iterator[str] | None:
    """Returns the names in a value, or None if it has none; Rally's object of lists by cluster means those of
    the cluster under test.
    """
    if isinstance(value, Mapping):
        value = value.get("default", ())
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        return None
    return (name.strip() for name in value if name.strip())


def _seconds(raw: object) -> float | None:
    if isinstance(raw, bool):
        return None
    try:
        value = float(str(raw))
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else _FLAGS.get(str(value).lower())


def _names(value: object) -> Names | None:
    names = _listed(value)
    return None if names is None else tuple(names)


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


_CONVERSIONS = {"seconds": _seconds, "flag": _flag, "names": _names, "text": _text}
