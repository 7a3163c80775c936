"""Runs `docker compose`."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.model.printable import single_line
from pacenote.system.command import run_command

_SHOWN = 300
_TIMEOUT_S = 60.0
_ADVICE = ("Run 'docker", "See 'docker")
_NO_DOCKER = "the pipeline docker needs `docker` with its plugin `compose`"
_HINT = "install Docker, or let Pacenote start the engine itself: --pipeline=from-distribution"


def check_docker() -> None:
    """Raises EngineError if `docker compose` cannot be used here."""
    if shutil.which("docker") is None:
        raise EngineError(f"{_NO_DOCKER}, which is not installed", hint=_HINT)
    done = _docker("compose", "version")
    if done.returncode:
        raise EngineError(f"{_NO_DOCKER}: {_reason(done)}", hint=_HINT)
    # Also fails if the daemon does not run.
    done = _docker("version", "--format", "{{.Server.Version}}")
    if done.returncode:
        raise EngineError(
            f"docker cannot be used: {_reason(done)}", hint="start its daemon, and check that you may use it"
        )


class ComposeProject(Struct, frozen=True):
    """A compose file that is run under a name of its own."""

    name: str
    """The name of the project."""
    file: Path
    """The compose file."""

    def validate(self) -> None:
        """Raises EngineError if docker rejects the compose file."""
        self._run("config", "--quiet", failure="docker rejects the compose file")

    def up(self, waiting: Callable[[], None]) -> None:
        """Pulls the image if necessary, and starts the container. Raises EngineError."""
        self._run("up", "--detach", "--quiet-pull", failure="the container does not start", waiting=waiting)

    def down(self) -> None:
        """Stops and removes the containers and volumes of the project. May be called again.

        Raises EngineError.
        """
        self._run(
            *("down", "--volumes", "--remove-orphans", "--timeout", "10"),
            failure="the container does not stop",
        )

    def watch(self) -> subprocess.Popen[bytes] | None:
        """Returns a process that ends with the container, or None if no container runs.

        Whether it has ended is known without a call of docker, which would disturb a measurement.
        """
        done = self._compose("ps", "--quiet", "--status", "running")
        container = done.stdout.strip()
        if done.returncode or not container:
            return None
        command, null = [shutil.which("docker") or "docker", "wait", container], subprocess.DEVNULL
        # In a separate session: Ctrl-C in the terminal must not look like the end of the container.
        return subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)

    def logs(self) -> str:
        """Returns the output of the container so far; empty if there is none."""
        done = self._compose("logs", "--no-color", "--no-log-prefix")
        return done.stdout if done.returncode == 0 else ""

    def _run(self, *arguments: str, failure: str, waiting: Callable[[], None] = lambda: None) -> None:
        done = self._compose(*arguments, waiting=waiting)
        if done.returncode:
            raise EngineError(f"{failure}: {_reason(done)}", hint=f"see {self.file}")

    def _compose(
        self, *arguments: str, waiting: Callable[[], None] = lambda: None
    ) -> subprocess.CompletedProcess[str]:
        return _docker(
            "compose", "--project-name", self.name, "--file", str(self.file), *arguments, waiting=waiting
        )


def _docker(*arguments: str, waiting: Callable[[], None] = lambda: None) -> subprocess.CompletedProcess[str]:
    # An image may take long to download, but nothing else does.
    limit = math.inf if "up" in arguments else _TIMEOUT_S
    try:
        return run_command(["docker", *arguments], os.environ, waiting, limit)
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"docker has not answered for {_TIMEOUT_S:.0f} s", hint="check that its daemon works: docker info"
        ) from None
    except OSError as error:
        raise EngineError(f"docker cannot be run: {error.strerror}", hint=_HINT) from error


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the last line that docker has printed, without advice."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines()]
    without_advice = [line for line in lines if line and not line.startswith(_ADVICE)]
    return single_line(without_advice[-1])[:_SHOWN] if without_advice else f"exit code {done.returncode}"
