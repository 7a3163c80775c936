"""The setting of an existing cluster that rejects wildcards in deletions: a race leaves it as it was.

Operations that delete indices with wildcards turn it off, and restore it themselves. They cannot if the race
drops them, for example after a second Ctrl-C, or if the cluster does not answer them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from msgspec import Struct

from pacenote.errors import PacenoteError
from pacenote.model.codec import as_text
from pacenote.model.work import PythonRunner, PythonSource, requests_of
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient
from pacenote.operations.named_resources import CLUSTER_SETTINGS, WILDCARD_SETTING, allows_wildcards
from pacenote.operations.registry import find_type
from pacenote.plan.document import Plan, PlannedTask
from pacenote.race.stop_signals import postponed


@contextmanager
def restored_wildcard_setting(
    plan: Plan, rest: RestClient, warn: Callable[[str], None]
) -> Generator[None, None, None]:
    """Restores the transient value of the setting after the block, however it ends.

    The operations restore the value that they have read, but one that runs at the same time as another may
    have read the other's value. Sends no requests if no operation of the plan can change the setting. `warn`
    is called if it cannot be read, and is therefore not restored, or cannot be restored.
    """
    before = _first_value(rest, warn) if any(map(_may_change_setting, plan.tasks)) else None
    try:
        yield
    finally:
        if before is not None:
            # If a second Ctrl-C ended this, the setting would stay off.
            with postponed():
                _restore(rest, before, warn)


class _TransientValue(Struct, frozen=True):
    """The transient value of the setting; None means that it has none."""

    value: str | None


def _may_change_setting(task: PlannedTask) -> bool:
    operation_type = find_type(task.operation_type)
    # The plan does not show the requests of operations that Python code supplies or runs.
    if operation_type is None:
        return isinstance(task.work, PythonRunner)
    if isinstance(task.work, PythonSource):
        return operation_type.admin
    return any(map(allows_wildcards, requests_of(task.work)))


def _first_value(rest: RestClient, warn: Callable[[str], None]) -> _TransientValue | None:
    """Returns the transient value, or None if it cannot be read, for example without the privilege."""
    try:
        return _read(rest)
    except PacenoteError as error:
        warn(
            f"the cluster's transient setting {WILDCARD_SETTING} cannot be read, so the race does not "
            f"restore it: {error.message}"
        )
        return None


def _read(rest: RestClient) -> _TransientValue:
    """Returns the transient value. Raises PacenoteError."""
    settings = rest.get(CLUSTER_SETTINGS, {"flat_settings": True})
    transient = settings.get("transient") if isinstance(settings, dict) else None
    value = transient.get(WILDCARD_SETTING) if isinstance(transient, dict) else None
    with expected_form("its transient settings"):
        return _TransientValue(None if value is None else as_text(value))


def _restore(rest: RestClient, before: _TransientValue, warn: Callable[[str], None]) -> None:
    with suppress(PacenoteError):
        if _read(rest) == before:
            return
    try:
        rest.request("PUT", CLUSTER_SETTINGS, {"transient": {WILDCARD_SETTING: before.value}})
    except PacenoteError as error:
        warn(
            f"the cluster's transient setting {WILDCARD_SETTING} could not be restored to "
            f"{before.value or 'no value'}: {error.message}"
        )
