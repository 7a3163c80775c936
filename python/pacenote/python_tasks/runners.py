"""Carries out operations in Python: by runners of plug-ins, or by built-in types written in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

from pacenote.operations.base import OperationType
from pacenote.operations.compile import run_operation
from pacenote.operations.registry import resolve_type
from pacenote.plugins.registry import ends_by_itself, innermost
from pacenote.python_tasks.assertions import check_assertions
from pacenote.python_tasks.builtin_operations import BuiltIns, LightClient
from pacenote.python_tasks.request_router import Wire
from pacenote.python_tasks.results import Done, from_built_in, from_error, from_runner
from pacenote.python_tasks.tasks import Program


class Runners:
    """Carries out operations of all tasks of a program, on the lane's event loop."""

    def __init__(self, wire: Wire, program: Program) -> None:
        self._wire = wire
        self._program = program
        self._built_ins = BuiltIns(wire, program.context)
        self._light = LightClient(wire)
        self._clients: dict[str, Any] = {}
        self._kinds: dict[str, OperationType] = {}
        self._memories: dict[tuple[int, int], dict[str, Any]] = {}

    async def carry_out(self, place: tuple[int, int], params: Mapping[str, Any]) -> tuple[Done, bool]:
        """Carries out one operation of a client; whether its runner says that the task is done with it.

        Never raises, but for its own cancellation.
        """
        kind = self._program.tasks[place[0]].task.operation.type
        runner = self._program.registry.runners.get(kind)
        try:
            if runner is None:
                return await self._built_in(kind, place, params)
            return await self._by_plugin(runner, params)
        except BaseException as error:  # Also what is no `Exception`: some plug-ins raise that.
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            return from_error(error, self._program.root), False

    def forget(self, tasks: Collection[int]) -> None:
        """These tasks have ended."""
        self._memories = {place: one for place, one in self._memories.items() if place[0] not in tasks}

    async def close(self) -> None:
        """Closes the clients."""
        for client in self._clients.values():
            await client.close()

    async def _built_in(
        self, name: str, place: tuple[int, int], params: Mapping[str, Any]
    ) -> tuple[Done, bool]:
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = resolve_type(name)
        memory = self._memories.setdefault(place, {})
        result = await run_operation(kind, params, self._program.context, self._light, memory)
        return from_built_in(result), kind.reports_completion and not result.incomplete

    async def _by_plugin(self, runner: Any, params: Mapping[str, Any]) -> tuple[Done, bool]:
        clients: Any = self._all_clients()
        if not getattr(innermost(runner), "multi_cluster", False):
            clients = clients["default"]
        if hasattr(runner, "__aenter__") and hasattr(runner, "__aexit__"):
            async with runner:
                returned = await runner(clients, params)
        else:
            returned = await runner(clients, params)
        done = from_runner(returned)
        if self._program.context.assertions:
            check_assertions(params, returned)
        return done, ends_by_itself(runner) and bool(innermost(runner).completed)

    def _all_clients(self) -> dict[str, Any]:
        if not self._clients:
            from pacenote.python_tasks.client import make_client

            engine = self._program.context.engine
            for cluster in self._program.clusters:
                self._clients[cluster] = make_client(self._wire, cluster, engine, self._built_ins)
        return dict(self._clients)


def _is_cancelled() -> bool:
    """Whether the operation itself is cancelled, and not something that its runner has awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
