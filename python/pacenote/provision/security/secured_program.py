"""Configures the nodes of an engine with security: certificates, a user, and the settings for both."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.provision.engine_program import EngineProgram, NodeSetup, ProgramCommand
from pacenote.provision.security.certificates import ClusterCertificates
from pacenote.provision.security.engine_user import EngineUser, add_user

LAYERS = ("http", "transport")
"""The parts of an engine that have a TLS configuration each."""

_REALMS = "xpack.security.authc.realms."
_OWN_CERTIFICATE = ("key", "certificate", "keystore.path")
_FILES = (*_OWN_CERTIFICATE, "certificate_authorities", "truststore.path")
_FOLDER = "certs"
_GIVEN_FOLDER = f"{_FOLDER}/given"


def layer_setting(layer: str, name: str) -> str:
    """Returns the full name of a TLS setting."""
    return f"xpack.security.{layer}.ssl.{name}"


def certificate_setting(settings: Mapping[str, object], layer: str) -> str | None:
    """Returns the name of the setting with which a car or the user gives the certificate of nodes, or None if
    Pacenote makes it.
    """
    names = (layer_setting(layer, name) for name in _OWN_CERTIFICATE)
    return next((name for name in names if name in settings), None)


def uses_tls(settings: Mapping[str, object], layer: str) -> bool:
    """Returns whether a layer of an engine with security uses TLS; it does unless a setting forbids it."""
    return str(settings.get(layer_setting(layer, "enabled"), True)).lower() != "false"


def given_files(settings: Mapping[str, object]) -> Iterator[tuple[str, Path]]:
    """Yields the name of each TLS setting, and each file on this machine that it names by its full path."""
    for layer in LAYERS:
        for name in (layer_setting(layer, file) for file in _FILES):
            value = settings.get(name, ())
            for text in value if isinstance(value, list | tuple) else (value,):
                if Path(str(text)).is_absolute():
                    yield name, Path(str(text))


class SecuredProgram(Struct, frozen=True):
    """An engine whose nodes have security.

    What a car or the user sets is used as it is. Engines only read files in their config folder, so that
    files which the user names are copied there.
    """

    program: EngineProgram
    """The engine as the car configures it."""
    user: EngineUser
    """The user of the clients."""
    certificates: ClusterCertificates | None = None
    """The certificates that Pacenote has made, or None if a car or the user gives those of both layers."""

    @property
    def home(self) -> Path:
        """The folder of the engine."""
        return self.program.home

    def install(self, folder: Path, /) -> Path:
        """Returns the home of a node in `folder`."""
        return self.program.install(folder)

    def settings(self, setup: NodeSetup) -> Mapping[str, object]:
        """Returns all settings of a node."""
        return self.program.settings(self._secured(setup))

    def config_files(self, setup: NodeSetup) -> Mapping[str, str]:
        """Returns the files of a node's config folder that need not be secret."""
        return self.program.config_files(self._secured(setup))

    def command(self, setup: NodeSetup) -> ProgramCommand:
        """Returns the command that starts a node."""
        return self.program.command(self._secured(setup))

    def complete(self, setup: NodeSetup, /) -> None:
        """Does what the car needs, and writes the certificates and the user, unless a hook of the car has
        added it. Raises OSError and EngineError.
        """
        self.program.complete(self._secured(setup))
        config = setup.paths.config
        for name, source in given_files(setup.settings):
            target = _copied(config, name, source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o600)
        if self.certificates is not None:
            node = self.certificates.nodes[_node_name(setup)]
            (config / _FOLDER).mkdir(exist_ok=True)
            _write_private(config / _FOLDER / "ca.crt", self.certificates.authority)
            _write_private(config / _FOLDER / "node.crt", node.certificate)
            _write_private(config / _FOLDER / "node.key", node.key)
        add_user(config, self.user)

    def _secured(self, setup: NodeSetup) -> NodeSetup:
        """Returns the setup of a node with the settings that neither the car nor the user has."""
        present = self.program.settings(setup)
        added = {name: value for name, value in self._own(setup, present).items() if name not in present}
        return replace(setup, settings={**added, **setup.settings, **_with_copies(setup)})

    def _own(self, setup: NodeSetup, given: Mapping[str, object]) -> dict[str, object]:
        folder = setup.paths.config / _FOLDER
        # As in Rally's car.
        own: dict[str, object] = {"xpack.security.authc.token.enabled": False}
        if not any(name.startswith(_REALMS) for name in given):
            own[f"{_REALMS}file.file1.order"] = 0
        for layer in LAYERS:
            own[layer_setting(layer, "enabled")] = True
            if uses_tls(given, layer) and certificate_setting(given, layer) is None:
                own[layer_setting(layer, "key")] = str(folder / "node.key")
                own[layer_setting(layer, "certificate")] = str(folder / "node.crt")
                own[layer_setting(layer, "certificate_authorities")] = [str(folder / "ca.crt")]
        return own


def _node_name(setup: NodeSetup) -> str:
    return str(setup.settings["node.name"])


def _with_copies(setup: NodeSetup) -> dict[str, object]:
    """Returns the settings that name files of the user, with the paths of their copies."""
    settings: dict[str, object] = {}
    for name, source in given_files(setup.settings):
        copied, value = (
            str(_copied(setup.paths.config, name, source)),
            settings.get(name, setup.settings[name]),
        )
        settings[name] = (
            [copied if str(file) == str(source) else file for file in value]
            if isinstance(value, list | tuple)
            else copied
        )
    return settings


def _copied(config: Path, name: str, source: Path) -> Path:
    """Returns the path of the copy of a file; files of several settings may have the same name."""
    return config / _GIVEN_FOLDER / name / source.name


def _write_private(path: Path, text: str) -> None:
    """Creates a file that only its owner can read, whatever the umask."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
