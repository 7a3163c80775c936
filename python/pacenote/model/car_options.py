"""Changes to the configuration of the engine that the user names one by one, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import field

from pacenote.model.codec import Stored


class CarOverrides(Stored, frozen=True, kw_only=True):
    """What overrides the cars."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the engine by their full names (`--set engine.NAME=VALUE`); they may contain secrets."""

    jvm_options: tuple[str, ...] = ()
    """Options of the JVM (`--jvm`); they may contain secrets."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the engine (`--env`); they may contain secrets."""

    @property
    def texts(self) -> dict[str, str]:
        """The settings, environment variables and system properties of the JVM by name, for the removal of
        secrets.
        """
        return {**system_properties(self.jvm_options), **self.settings, **self.environment}


def system_properties(jvm_options: Iterable[str]) -> dict[str, str]:
    """Returns the system properties that options of the JVM set, by name: `-DNAME=VALUE`."""
    pairs = (option[2:].partition("=") for option in jvm_options if option.startswith("-D"))
    return {name: value for name, _, value in pairs}
