"""The compose file of an engine in a container."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pacenote.errors import EngineError, UsageError
from pacenote.model.decoding import parse_json
from pacenote.model.engine import DEFAULT_CLUSTER_NAME
from pacenote.provision.distributions.images import ENGINE_IMAGES, EngineImage
from pacenote.system.paths import real_path

SERVICE = "engine"
"""The name of the service in a compose file."""

CONTAINER_PORT = 9200
"""The HTTP port inside of a container."""

_HOME = "x-pacenote-home"
"""The key of the home folder; docker ignores keys that begin with `x-`."""

_IMAGE = re.compile(r"[a-z0-9][\w./:-]*[a-z0-9]")
_MEMORY = re.compile(r"\d+(?:\.\d+)?[bkmgBKMG]?")
_MEMLOCK = {"soft": -1, "hard": -1}
_OPEN_FILES = {"soft": 65_536, "hard": 65_536}


class ContainerSpec(Struct, frozen=True):
    """The container to start."""

    distribution: str
    """The name of the distribution."""
    version: str
    """The version of the engine, which is the tag of the image."""
    http_port: int
    """The port on 127.0.0.1 at which the engine answers."""
    name: str = "rally-node-0"
    """`node.name`."""
    cluster_name: str = DEFAULT_CLUSTER_NAME
    """`cluster.name`."""
    heap: str = "1g"
    """Heap size such as `1g`."""
    jvm_options: tuple[str, ...] = ()
    """JVM options."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the engine."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """Variables of the car: `docker_image`, `docker_mem_limit` and `docker_cpu_count` have an effect."""

    @property
    def image(self) -> str:
        """The image with its tag. Raises EngineError and UsageError."""
        image = str(self.variables.get("docker_image") or _engine_image(self.distribution).image)
        if not _IMAGE.fullmatch(image):
            raise UsageError(
                f"docker_image cannot be '{image}'", hint="for example opensearchproject/opensearch"
            )
        return image if ":" in image.rpartition("/")[2] else f"{image}:{self.version}"


def compose_document(spec: ContainerSpec) -> dict[str, Any]:
    """Returns the compose file of a container as JSON-ready data.

    Raises UsageError for wrong limits and an engine without an image.
    """
    engine = _engine_image(spec.distribution)
    service: dict[str, Any] = {
        "image": spec.image,
        "cap_add": ["IPC_LOCK"],
        "environment": _environment(spec, engine),
        # Only this host can reach the engine.
        "ports": [f"127.0.0.1:{spec.http_port}:{CONTAINER_PORT}"],
        "ulimits": {"memlock": _MEMLOCK, "nofile": _OPEN_FILES},
        "volumes": [f"data:{engine.data}"],
    }
    if memory := spec.variables.get("docker_mem_limit"):
        if not _MEMORY.fullmatch(str(memory)):
            raise UsageError(f"docker_mem_limit cannot be '{memory}'", hint="for example docker_mem_limit:4g")
        service["mem_limit"] = str(memory)
    if cpus := spec.variables.get("docker_cpu_count"):
        service["cpus"] = _positive(cpus)
    return {"services": {SERVICE: service}, "volumes": {"data": {}}}


def compose_text(spec: ContainerSpec, home: Path) -> str:
    """Returns the text of the compose file for a container of a home folder. Raises UsageError."""
    # JSON is valid YAML, and needs no rules for quoting.
    return json.dumps({**compose_document(spec), _HOME: str(real_path(home))}, indent=2) + "\n"


class ComposedEngine(Struct, frozen=True):
    """The engine that a compose file describes."""

    image: str
    """Its image with the tag."""
    name: str
    """`node.name`."""
    address: str
    """The host and the port at which it answers."""


def read_compose_file(file: Path) -> ComposedEngine | None:
    """Returns the engine of a compose file, or None if it cannot be read."""
    try:
        service = parse_json(file.read_text("utf-8"))["services"][SERVICE]
        name = service["environment"]["node.name"].replace("$$", "$")
        return ComposedEngine(service["image"], name, service["ports"][0].rpartition(":")[0])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def home_of_compose_file(file: Path) -> Path | None:
    """Returns the home folder that a compose file was written for, or None if it cannot be read."""
    try:
        return Path(parse_json(file.read_text("utf-8"))[_HOME])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _environment(spec: ContainerSpec, engine: EngineImage) -> dict[str, str]:
    """Returns the environment variables; the images take those with a dot in their names as settings."""
    settings = {
        "cluster.name": spec.cluster_name,
        "node.name": spec.name,
        "discovery.type": "single-node",
        # As for engines that Pacenote starts itself.
        "cluster.routing.allocation.disk.threshold_enabled": False,
        **spec.settings,
        "http.port": CONTAINER_PORT,
    }
    java = " ".join((f"-Xms{spec.heap}", f"-Xmx{spec.heap}", *spec.jvm_options))
    texts = {key: _text(value) for key, value in settings.items()}
    variables = {**engine.environment, **texts, engine.java_variable: java, **spec.environment}
    # Compose replaces what follows a dollar sign.
    return {key: value.replace("$", "$$") for key, value in variables.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return str(value)


def _positive(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise UsageError(f"docker_cpu_count cannot be '{value}'", hint="for example docker_cpu_count:2")
    return number


def _engine_image(distribution: str) -> EngineImage:
    image = ENGINE_IMAGES.get(distribution)
    if image is None:
        raise EngineError(
            f"there is no image of {distribution}", hint=f"one of {', '.join(ENGINE_IMAGES)} has one"
        )
    return image
