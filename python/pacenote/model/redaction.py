"""Removes secrets from the results and the record of a race before they are stored and shown.

An engine or a plug-in may repeat a secret in an error message. Names of tasks, operations and indices are not
changed, because results refer to them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache, partial
from typing import Any, cast

from msgspec.structs import replace

from pacenote.errors import PacenoteError, StoreError, TrackError
from pacenote.model.codec import MAX_NAME
from pacenote.model.failure_group import FailureGroup
from pacenote.model.printable import shortened
from pacenote.model.race_record import RaceRecord, RecordedCluster, Verdict
from pacenote.model.result import TaskResult, ValueSummary
from pacenote.model.secrets import (
    REDACTED,
    is_secret,
    is_secret_number,
    redact,
    redact_before_at,
    redact_params,
    redact_urls,
    redact_value,
    secret_values,
)
from pacenote.model.snapshot import RaceSnapshot, RecordedSnapshot, Snapshot
from pacenote.model.unique_names import UniqueNames

_NAMED_ITEMS = ("set", "env", "jvm")
"""Options that are `NAME=VALUE`, or lists of them."""

_PARAMETERS = ("track-params", "car-params", "user-tags")
"""The parts of a stored race that may contain secrets."""

_MAX_SECRETS = 100
"""Largest number of secrets in a stored race."""

_MAX_SECRET_LENGTH = 16 << 10
"""Largest number of their characters."""

_MAX_REPEATED = 10_000
"""Number of texts in a document that are searched once although they are in it several times."""

_MAX_REPEATED_LENGTH = 256
"""Largest number of characters of such a text."""

_MAX_PUBLIC_NAME = MAX_NAME - 20
"""Number of characters of a name without secrets, which leaves room for its number."""

_CLIENT, _HOSTS = "client-options", "target-hosts"

_OF_CLIENTS = ("headers", "opaque_id")
"""Options of clients whose values may be secret, whatever they are called."""


def redact_result(result: TaskResult, secrets: Collection[str]) -> TaskResult:
    """Returns the result of a task without secrets in the reasons of its failures, in its unit and in the
    names of the numbers that a runner returned, and without numbers that are secrets.
    """
    parts = tuple(replace(part, errors=_redact_errors(part.errors, secrets)) for part in result.parts)
    return replace(
        result,
        errors=_redact_errors(result.errors, secrets),
        parts=parts,
        unit=_public_name(result.unit, secrets),
        values=_redact_values(result.values, secrets),
    )


def _redact_values(
    values: Mapping[str, ValueSummary], secrets: Collection[str]
) -> Mapping[str, ValueSummary]:
    """Returns the numbers that are not secrets, under names without secrets. Names that become equal are
    numbered.
    """
    public = {name: value for name, value in values.items() if not _has_secret(value, secrets)}
    names = UniqueNames()
    return {names.add(_public_name(name, secrets)): value for name, value in public.items()}


def _has_secret(value: ValueSummary, secrets: Collection[str]) -> bool:
    numbers = (value.min, value.mean, value.max, value.standard_deviation, value.low, value.high)
    return any(is_secret_number(number, secrets) for number in numbers if number is not None)


def _redact_document(value: object, secrets: Collection[str]) -> object:
    """Redacts secrets in every string of a JSON value, also in keys, which may be names of nodes."""
    # Keys and short values repeat in each sample of telemetry.
    repeated = lru_cache(maxsize=_MAX_REPEATED)(partial(_redact_text, secrets=secrets))

    def text(value: str) -> str:
        return repeated(value) if len(value) <= _MAX_REPEATED_LENGTH else _redact_text(value, secrets)

    def clean(value: object) -> object:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, Mapping):
            names = UniqueNames()
            return {names.add(text(str(key))): clean(item) for key, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    return clean(value)


def _redact_cluster(cluster: RecordedCluster, secrets: Collection[str]) -> RecordedCluster:
    """Returns the description of an engine without secrets: it may repeat those of requests anywhere."""

    def clean(value: object) -> Any:
        return _redact_document(value, secrets)

    return replace(
        cluster,
        version=clean(cluster.version),
        flavor=clean(cluster.flavor),
        build_hash=clean(cluster.build_hash),
        name=clean(cluster.name),
        nodes=tuple(clean(node) for node in cluster.nodes),
    )


def redact_record(record: RaceRecord, secrets: Collection[str]) -> RaceRecord:
    """Returns the record of a race without secrets, and without user names and passwords of URLs, in its
    parameters and messages, and in what the engine has reported.
    """

    def clean(value: object) -> Any:
        return redact_value(value, secrets)

    findings = tuple(replace(finding, text=clean(finding.text)) for finding in record.verdict.findings)
    return replace(
        record,
        track=replace(record.track, params=clean(record.track.params)),
        car_params=clean(record.car_params),
        given_options=clean(record.given_options),
        user_tags=clean(record.user_tags),
        task_meta=clean(record.task_meta),
        cluster=_redact_cluster(record.cluster, secrets),
        tasks=tuple(redact_result(task, secrets) for task in record.tasks),
        telemetry=cast("dict[str, object]", _redact_document(record.telemetry, secrets)),
        telemetry_errors=tuple(clean(text) for text in record.telemetry_errors),
        documents=tuple(
            replace(check, count_problem=clean(check.count_problem)) for check in record.documents
        ),
        verdict=Verdict(record.verdict.state, findings),
        snapshot=_redact_recorded(record.snapshot, secrets),
        aborted=clean(record.aborted),
    )


def redact_given_options(options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of a race as they were given, without what their names show to be secret, however
    short it is; `redact_record` removes the secrets that are known from other options.
    """
    public = redact_params(options)
    for name in _NAMED_ITEMS:
        if isinstance(item := public.get(name), str):
            public[name] = _redact_item(item)
        elif isinstance(item, list | tuple):
            public[name] = [_redact_item(part) if isinstance(part, str) else part for part in item]
    if _HOSTS in public:
        public[_HOSTS] = _redact_hosts(public[_HOSTS])
    if isinstance(client := options.get(_CLIENT), Mapping):
        public[_CLIENT] = _redact_client(client)
    return public


def _redact_item(item: str) -> str:
    name, equals, _ = item.partition("=")
    return f"{name}{equals}{REDACTED}" if is_secret(name) else item


def _redact_hosts(hosts: object) -> object:
    """Removes users and passwords of a list of addresses, which may be text, or be nested in tables."""
    if isinstance(hosts, str):
        return ",".join(str(_redact_host(host)) for host in hosts.split(","))
    return _redact_host(hosts)


def _redact_host(host: object) -> object:
    """Removes user and password of each address in a value; they may have no scheme."""
    if isinstance(host, Mapping):
        return {name: _redact_host(part) for name, part in host.items()}
    if isinstance(host, list | tuple):
        return list(map(_redact_host, host))
    return redact_before_at(host) if isinstance(host, str) and "://" not in host else host


def _redact_client(options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of a client, or of those of several clusters, without credentials and values of
    headers. A flag is not secret, such as that each client has an API key of its own.
    """
    public: dict[str, object] = {}
    for name, value in options.items():
        if isinstance(value, bool):
            public[name] = value
        elif name in _OF_CLIENTS:
            public[name] = dict.fromkeys(value, REDACTED) if isinstance(value, Mapping) else REDACTED
        elif isinstance(value, Mapping) and not is_secret(name):
            public[name] = _redact_client(value)
        else:
            public |= redact_params({name: value})
    return public


def redact_snapshot(snapshot: RaceSnapshot, secrets: Collection[str]) -> RaceSnapshot:
    """Returns the configuration of engine and machine without secrets, also in its keys: an option of the JVM
    may be one. Keys that become equal are numbered.
    """

    def clean(facts: Mapping[str, str]) -> dict[str, str]:
        names = UniqueNames()
        return {
            names.add(_redact_text(key, secrets)): _redact_text(value, secrets)
            for key, value in facts.items()
        }

    def cleaned(part: Snapshot) -> Snapshot:
        return Snapshot(clean(part.facts), clean(part.unread))

    after = None if snapshot.after is None else cleaned(snapshot.after)
    return RaceSnapshot(cleaned(snapshot.before), after)


def _redact_recorded(snapshot: RecordedSnapshot | None, secrets: Collection[str]) -> RecordedSnapshot | None:
    if snapshot is None:
        return None
    return replace(
        snapshot,
        changed=tuple(_redact_text(text, secrets) for text in snapshot.changed),
        hurts=tuple(_redact_text(text, secrets) for text in snapshot.hurts),
    )


def stored_secrets(document: Mapping[str, object]) -> frozenset[str]:
    """Returns the secrets in the parameters of a stored race, which an older version may not have hidden.

    Raises StoreError for more of them than a race has: dozens of encoded forms of each are searched for.
    """
    params = (document.get(key) for key in _PARAMETERS)
    secrets = frozenset().union(*(secret_values(values) for values in params if isinstance(values, Mapping)))
    secrets -= {REDACTED}
    if len(secrets) > _MAX_SECRETS or sum(map(len, secrets)) > _MAX_SECRET_LENGTH:
        raise StoreError(
            f"{', '.join(_PARAMETERS)}: more than {_MAX_SECRETS} secrets, "
            f"or {_MAX_SECRET_LENGTH:,} characters of them",
            hint="hide them: replace each by <hidden>",
        )
    return secrets


def redact_error(error: BaseException, secrets: Collection[str]) -> None:
    """Redacts secrets in the messages of an error, and of the errors that led to it, in place."""
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        current.args = tuple(redact(arg, secrets) if isinstance(arg, str) else arg for arg in current.args)
        if isinstance(current, PacenoteError):
            current.message, current.hint = redact(current.message, secrets), redact(current.hint, secrets)
        if isinstance(current, TrackError):
            current.problems = tuple(redact(problem, secrets) for problem in current.problems)
        waiting += [linked for linked in (current.__cause__, current.__context__) if linked is not None]


def _redact_errors(errors: tuple[FailureGroup, ...], secrets: Collection[str]) -> tuple[FailureGroup, ...]:
    return tuple(replace(error, reason=_redact_text(error.reason, secrets)) for error in errors)


def _public_name(name: str, secrets: Collection[str]) -> str:
    """Returns a name without secrets, still short enough to be read: what replaces a secret may be longer."""
    return shortened(_redact_text(name, secrets), _MAX_PUBLIC_NAME)


def _redact_text(text: str, secrets: Collection[str]) -> str:
    return redact_urls(redact(text, secrets))
