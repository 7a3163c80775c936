"""Executes operations in Python: by runners of plug-ins, or by built-in types implemented in Python."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec.structs import replace

from pacenote._core import ClientId
from pacenote.operations.base import OperationType
from pacenote.operations.compile import run_operation
from pacenote.operations.registry import resolve_type
from pacenote.plugins.plugin_registry import completes_task, innermost
from pacenote.plugins.rally_api.errors import DataError, RallyTaskAssertionError
from pacenote.python_tasks.builtin_operations import BuiltinClient, BuiltinOperations
from pacenote.python_tasks.request_router import RequestRouter
from pacenote.python_tasks.results import PythonOperationResult, from_builtin, from_error, from_runner
from pacenote.python_tasks.tasks import PythonTasks

_CONDITIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


class RunnerExecutor:
    """Executes operations of all Python tasks, on the event loop's thread."""

    def __init__(self, router: RequestRouter, tasks: PythonTasks) -> None:
        self._router = router
        self._tasks = tasks
        self._builtin_operations = BuiltinOperations(router, tasks.context)
        self._builtin_client = BuiltinClient(router)
        self._plugin_clients: dict[str, Any] = {}
        self._types: dict[str, OperationType] = {}
        self._client_states: dict[ClientId, dict[str, Any]] = {}
        self._cancelled: set[asyncio.Task[Any]] = set()

    def prepare(self, tasks: Collection[int]) -> None:
        """Builds all that the first operations of tasks need, given by their positions in the plan.

        Called before the clock of their step starts.
        """
        for index in tasks:
            task = self._tasks.tasks.get(index)
            if task is not None and task.has_runner:
                # An error is reported by the operation that needs what cannot be built.
                with contextlib.suppress(Exception):
                    self._prepare(task.task.operation.type)

    def _prepare(self, type_name: str) -> None:
        if type_name in self._tasks.registry.runners:
            self._clients()
        else:
            self._type(type_name)

    def cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancels a task of the event loop. An operation that a plug-in cancels instead is a failure.

        Keeps a reference until the task ends: one that does not must not be freed on another thread.
        """
        self._cancelled.add(task)
        task.add_done_callback(self._cancelled.discard)
        task.cancel()

    async def execute(self, client: ClientId, params: Mapping[str, Any]) -> PythonOperationResult:
        """Executes one operation of a client. Raises only its cancellation by `cancel`."""
        task = self._tasks.tasks[client.task]
        type_name = task.task.operation.type
        runner = self._tasks.registry.runners.get(type_name)
        try:
            if runner is None:
                return await self._run_builtin(type_name, client, params)
            return await self._run_plugin(runner, params)
        except BaseException as error:  # Some plug-ins raise errors that are not an `Exception`.
            if isinstance(error, asyncio.CancelledError) and asyncio.current_task() in self._cancelled:
                raise
            result = from_error(error, self._tasks.root)
        # If only its operations can complete the task, it would never end if they all failed.
        return replace(result, completes_task=not task.has_bound and self._completes_task(type_name, runner))

    def _completes_task(self, type_name: str, runner: Any) -> bool:
        """Returns whether operations report when their task is complete. Never raises."""
        with contextlib.suppress(Exception):
            return self._type(type_name).completes_task if runner is None else completes_task(runner)
        return False

    def end_tasks(self, tasks: Collection[int]) -> None:
        """Drops the state of tasks that have ended, given by their positions in the plan."""
        self._client_states = {
            client: state for client, state in self._client_states.items() if client.task not in tasks
        }

    async def close(self) -> None:
        """Closes the clients."""
        for client in self._plugin_clients.values():
            await client.close()

    async def _run_builtin(
        self, name: str, client: ClientId, params: Mapping[str, Any]
    ) -> PythonOperationResult:
        operation_type = self._type(name)
        state = self._client_states.setdefault(client, {})
        ran = await run_operation(operation_type, params, self._tasks.context, self._builtin_client, state)
        if self._tasks.context.assertions:
            check_assertions(params, ran.returned())
        return from_builtin(ran)

    def _type(self, name: str) -> OperationType:
        operation_type = self._types.get(name)
        if operation_type is None:
            operation_type = self._types[name] = resolve_type(name)
        return operation_type

    async def _run_plugin(self, runner: Any, params: Mapping[str, Any]) -> PythonOperationResult:
        clients: Any = self._clients()
        if not getattr(innermost(runner), "multi_cluster", False):
            clients = clients["default"]
        if hasattr(runner, "__aenter__") and hasattr(runner, "__aexit__"):
            async with runner:
                returned = await runner(clients, params)
        else:
            returned = await runner(clients, params)
        returned_s = time.perf_counter()
        result = from_runner(returned)
        if self._tasks.context.assertions:
            check_assertions(params, returned)
        completed = completes_task(runner) and bool(innermost(runner).completed)
        return replace(result, completes_task=completed, returned_s=returned_s)

    def _clients(self) -> dict[str, Any]:
        """Returns the clients for plug-ins, by name of the cluster."""
        if not self._plugin_clients:
            # Importing elasticsearch-py is slow, so it is delayed until a step needs it.
            from pacenote.python_tasks.client import make_client

            engine = self._tasks.context.engine
            for cluster in self._tasks.clusters:
                self._plugin_clients[cluster] = make_client(
                    self._router, cluster, engine, self._builtin_operations
                )
        return dict(self._plugin_clients)


def check_assertions(params: Mapping[str, Any], returned: Any) -> None:
    """Checks what a runner returned against the assertions of its operation.

    Raises `RallyTaskAssertionError` for the first assertion that fails, and `DataError` for one that cannot
    be checked.
    """
    assertions = params.get("assertions") or ()
    if assertions and not isinstance(returned, Mapping):
        raise DataError("assertions can only be checked if the runner returns a dictionary")
    for assertion in assertions:
        path, condition, expected = assertion["property"], assertion["condition"], assertion["value"]
        if condition not in _CONDITIONS:
            raise DataError(f"the condition {condition!r} of an assertion is unknown")
        value: Any = returned
        # Some names contain dots, such as those of the figures of a profile.
        for key in (path,) if path in returned else path.split("."):
            if not isinstance(value, Mapping) or key not in value:
                raise RallyTaskAssertionError(f"Expected [{path}], but the runner returned no such value.")
            value = value[key]
        if not _CONDITIONS[condition](value, expected):
            raise RallyTaskAssertionError(
                f"Expected [{path}] to be {condition} [{expected}] but was [{value}]."
            )
