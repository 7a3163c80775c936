"""The connection to a metrics store, and how it is written to: Rally's keys of `[reporting]`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pacenote.errors import UsageError
from pacenote.model.client_options import TlsOptions
from pacenote.units import whole_number

StoreType = Literal["elasticsearch", "opensearch"]
"""The engine of a store, as `datastore.type` names it."""

IN_MEMORY = "in-memory"
"""The value of `datastore.type` without a store."""

DEFAULT_SAMPLES = 100_000
"""The most samples of a task that are stored unless the settings say otherwise."""

KEYS = (
    "datastore.type",
    "datastore.host",
    "datastore.port",
    "datastore.secure",
    "datastore.user",
    "datastore.password",
    "datastore.api_key",
    "datastore.ssl.verification_mode",
    "datastore.ssl.certificate_authorities",
    "datastore.probe.cluster_version",
    "datastore.use_data_streams",
    "datastore.number_of_shards",
    "datastore.number_of_replicas",
    "datastore.overwrite_existing_templates",
    "metrics.request.downsample.factor",
)
"""Rally's keys about a metrics store."""

_ENVIRONMENT = {
    "datastore.user": "RALLY_REPORTING_DATASTORE_USER",
    "datastore.password": "RALLY_REPORTING_DATASTORE_PASSWORD",
    "datastore.api_key": "RALLY_REPORTING_DATASTORE_API_KEY",
}
"""Keys with the variables of the environment that override them, as in Rally."""

_SECRET = ("datastore.password", "datastore.api_key")
_TYPES: tuple[StoreType, ...] = ("elasticsearch", "opensearch")
_TRUE = frozenset({"true", "yes", "on", "1", "t", "y"})
_FALSE = frozenset({"false", "no", "off", "0", "f", "n"})
_LARGEST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The settings of a metrics store."""

    type: StoreType = "elasticsearch"
    """The engine of the store; it is only believed if the version of the store is not probed."""

    host: str
    """Its host name or address."""

    port: int
    """Its TCP port."""

    secure: bool = False
    """Whether connections use TLS."""

    authorization: str | None = field(default=None, repr=False)
    """The value of the Authorization header; secret."""

    credentials: Literal["", "user", "api_key"] = ""
    """The key of the credentials, or empty without any."""

    tls: TlsOptions = TlsOptions()
    """The settings of TLS connections."""

    probes_version: bool = True
    """Whether the engine and its version are asked for before documents are written."""

    use_data_streams: bool = True
    """Whether documents are written to data streams; otherwise to an index for each month."""

    shards: int | None = None
    """Primary shards of indices, or None for the default of the engine; data streams ignore it."""

    replicas: int | None = None
    """Replicas of indices, or None for the default of the engine; data streams ignore it."""

    overwrites_templates: bool = False
    """Whether existing templates that differ are replaced."""

    every_nth_sample: int | None = None
    """Of how many samples one is stored, or None for at most `DEFAULT_SAMPLES` of each task."""

    @property
    def url(self) -> str:
        """The address, without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"


def store_settings(values: Mapping[str, str], environment: Mapping[str, str]) -> StoreSettings | None:
    """Returns the settings for values by Rally's keys, or None if they do not name a store.

    Variables of the environment override user, password and API key. Raises UsageError with the invalid key.
    """
    given = {key: value.strip() for key, value in values.items() if value.strip()}
    given |= {key: environment[name] for key, name in _ENVIRONMENT.items() if environment.get(name)}
    kind = next((one for one in _TYPES if one == given.get("datastore.type", IN_MEMORY)), None)
    if kind is None:
        if given.get("datastore.type", IN_MEMORY) == IN_MEMORY:
            return None
        raise _invalid("datastore.type", given["datastore.type"], f"{', '.join(_TYPES)} or {IN_MEMORY}")
    for key in ("datastore.host", "datastore.port"):
        if key not in given:
            raise UsageError(
                f"[reporting] {key} is missing, but datastore.type={kind} needs it",
                hint=f"add it, or set datastore.type={IN_MEMORY}",
            )
    authorization, credentials = _authorization(given)
    return StoreSettings(
        type=kind,
        host=given["datastore.host"].strip("[]"),
        port=_whole(given, "datastore.port", 1, _LARGEST_PORT) or 0,
        secure=_flag(given, "datastore.secure", default=False),
        authorization=authorization,
        credentials=credentials,
        tls=TlsOptions(ca_file=given.get("datastore.ssl.certificate_authorities"), verify=_verifies(given)),
        probes_version=_flag(given, "datastore.probe.cluster_version", default=True),
        use_data_streams=_flag(given, "datastore.use_data_streams", default=True),
        shards=_whole(given, "datastore.number_of_shards", 1),
        replicas=_whole(given, "datastore.number_of_replicas", 0),
        overwrites_templates=_flag(given, "datastore.overwrite_existing_templates", default=False),
        every_nth_sample=_whole(given, "metrics.request.downsample.factor", 1),
    )


def store_secrets(values: Mapping[str, str], environment: Mapping[str, str]) -> frozenset[str]:
    """Returns the secrets among the values and variables, which messages must not contain."""
    secrets = [values.get(key, "") for key in _SECRET]
    secrets += [environment.get(_ENVIRONMENT[key], "") for key in _SECRET]
    return frozenset(filter(None, secrets))


def _authorization(given: Mapping[str, str]) -> tuple[str | None, Literal["", "user", "api_key"]]:
    user, api_key = given.get("datastore.user", ""), given.get("datastore.api_key", "")
    if user and api_key:
        raise UsageError(
            "[reporting] has datastore.user and datastore.api_key", hint="give one of them, not both"
        )
    if user:
        password = given.get("datastore.password", "")
        if not password:
            raise UsageError(
                "[reporting] datastore.password is missing for datastore.user",
                hint="add it, or set RALLY_REPORTING_DATASTORE_PASSWORD",
            )
        return f"Basic {_base64(f'{user}:{password}')}", "user"
    if api_key:
        # An API key is given encoded, as Elasticsearch shows it, or as its id and key.
        return f"ApiKey {_base64(api_key) if ':' in api_key else api_key}", "api_key"
    return None, ""


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _flag(given: Mapping[str, str], key: str, *, default: bool) -> bool:
    text = given.get(key, "").lower()
    if not text:
        return default
    if text not in _TRUE | _FALSE:
        raise _invalid(key, given[key], "true or false")
    return text in _TRUE


def _whole(given: Mapping[str, str], key: str, least: int, most: int | None = None) -> int | None:
    text = given.get(key)
    if text is None:
        return None
    number = whole_number(text)
    if number is None or number < least or (most is not None and number > most):
        limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise _invalid(key, text, f"a whole number {limits}")
    return number


def _verifies(given: Mapping[str, str]) -> bool:
    key = "datastore.ssl.verification_mode"
    mode = given.get(key, "full").lower()
    if mode not in ("full", "none"):
        raise _invalid(key, given[key], "full or none")
    return mode == "full"


def _invalid(key: str, value: str, expected: str) -> UsageError:
    return UsageError(f"[reporting] {key} must be {expected}, not '{value}'")
