"""The engine that an experiment keeps for all of its races, and the races themselves."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError, Interrupted
from pacenote.lab.child_command import ChildCall, ChildExit, Show, run_children
from pacenote.lab.experiment.options import arguments
from pacenote.lab.race_child import RaceCall, run_races
from pacenote.model.experiment import Options
from pacenote.model.shell_command import shell_command
from pacenote.store.atomic_files import write_atomically
from pacenote.store.installation_store import INSTALLATION, is_kept_id, new_kept_id
from pacenote.store.json_file import read_json
from pacenote.system.paths import exists

_CONNECT_S = 5.0


def starts_engine(options: Options) -> bool:
    """Returns whether an engine is started for races with these options: they do not name another cluster."""
    return "target-hosts" not in options and options.get("pipeline") != "benchmark-only"


class ChildRaces(Struct, frozen=True):
    """Runs each race as `pacenote race` in a process of its own, which ends with this one."""

    needs_new_engine: Callable[[str, object], bool]
    """Returns whether an option of a race has no effect on an engine that runs already."""

    state: Path
    """File with the id of the engine that was started for all races."""

    show: Show
    """Shows the progress of starting that engine."""

    warn: Callable[[str], None]
    """Shows a warning."""

    folder: Path
    """The folder that paths are relative to."""

    def run(self, races: Sequence[RaceCall], shows: Sequence[Show]) -> tuple[ChildExit, ...]:
        """Runs races at the same time to their ends; signals are passed on to them."""
        return run_races(races, shows)

    @contextmanager
    def kept_engine(self, options: Options) -> Generator[Options, None, None]:
        """Starts an engine for all races within the block, and yields their options.

        Raises EngineError if it does not start, or if one from before does not stop, and Interrupted.
        """
        if not starts_engine(options):
            yield options
            return
        if problem := self.stop_engine():
            # It would disturb all races.
            raise EngineError(problem, hint="the experiment can be resumed when it has ended")
        engine, others = self._split(options)
        chosen = f"{INSTALLATION}{new_kept_id(self.state.parent.name)}"
        # Written first: the engine is found again if this process is killed while it starts.
        write_atomically(self.state, json.dumps(chosen).encode())
        try:
            self._command("install", [chosen, *arguments(engine)])
            nodes = json.loads(self._command("start", [chosen, "--format=json"]))["nodes"]
            hosts = ",".join(node["address"] for node in nodes)
            yield others | {"pipeline": "benchmark-only", "target-hosts": hosts}
        finally:
            if problem := self.stop_engine():
                self.warn(problem)

    def engine_problem(self, options: Options) -> str:
        """Returns what is wrong with the engine that is kept; empty if it can be raced."""
        if not exists(self.state):
            return ""
        for address in str(options["target-hosts"]).split(","):
            host, _, port = address.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
            except OSError as error:
                return f"the engine at {address} has ended: {error.strerror or error}"
        return ""

    def stop_engine(self) -> str:
        """Stops the engine that this experiment has started, now or before it was killed. Returns why that
        failed; empty if none runs.
        """
        try:
            chosen = read_json(self.state)
        except (OSError, ValueError):
            return ""
        if not isinstance(chosen, str) or not chosen.startswith(INSTALLATION):
            return ""
        if not is_kept_id(chosen.removeprefix(INSTALLATION), self.state.parent.name):
            # Someone else may have written it while they had the folder.
            return (
                f"{self.state} names an engine that is left alone, because this experiment starts none "
                "with such an id: `pacenote list nodes` shows what runs; remove the file to go on"
            )
        end = self._run("stop", [chosen])
        # It was killed before there was an installation.
        if end.code and "there is no installation" not in end.error:
            reason = end.error or f"exit code {end.code}"
            command = shell_command("pacenote", "stop", chosen)
            return f"the engine of the experiment cannot be stopped with `{command}`: {reason}"
        self.state.unlink(missing_ok=True)
        return ""

    def _split(self, options: Options) -> tuple[dict[str, object], dict[str, object]]:
        """Returns the options of the engine, and those of the races. Single settings may be either."""
        engine: dict[str, object] = {}
        others: dict[str, object] = {}
        for name, value in options.items():
            if name == "set" and isinstance(value, list | tuple):
                of_engine = [setting for setting in value if self.needs_new_engine(name, [setting])]
                engine |= {name: of_engine} if of_engine else {}
                of_races = [setting for setting in value if setting not in of_engine]
                others |= {name: of_races} if of_races else {}
            else:
                (engine if self.needs_new_engine(name, value) else others)[name] = value
        return engine, others

    def _command(self, name: str, args: Sequence[str]) -> bytes:
        """Runs another command, and returns its output. Raises EngineError and Interrupted."""
        end = self._run(name, args)
        if end.stopped:
            raise Interrupted("interrupted", hint="the experiment can be resumed")
        if end.code:
            raise EngineError(f"`pacenote {name}` failed: {end.error or f'exit code {end.code}'}")
        return end.output

    def _run(self, name: str, args: Sequence[str]) -> ChildExit:
        log = self.state.with_name(f"{name}.log")
        (end,) = run_children([ChildCall((name, *args), log, self.folder)], [self.show])
        return end
