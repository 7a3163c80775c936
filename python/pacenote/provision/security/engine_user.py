"""The user that clients authenticate as: that of Rally's car `x-pack-security`.

Its password is stored in the node's file realm as a hash that every version of Elasticsearch reads. The tool
of Elasticsearch would start a JVM, and show the password in the list of processes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pacenote.errors import UsageError
from pacenote.system.paths import exists
from pacenote.system.regular_files import read_regular_file

USER_VARIABLES = ("xpack_security_user_name", "xpack_security_user_password", "xpack_security_user_role")
"""The variables of cars, as in Rally: the name of the user, its password, and its roles."""

_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,256}")
_ROLES = re.compile(r"[\w.@-]+(,[\w.@-]+)*")
_RESERVED = (
    *("elastic", "kibana", "kibana_system", "logstash_system", "beats_system", "apm_system"),
    "remote_monitoring_user",
)
"""Users that Elasticsearch has, whose passwords are not in files."""
_MIN_PASSWORD = 6
"""As in the tool of Elasticsearch."""

_MAX_BYTES = 1 << 20
"""Size of the largest file of users that is read: that of an archive has none."""

_ROUNDS = 10_000
_BYTES = 32
_SALT_BYTES = 32


@dataclass(frozen=True, slots=True)
class EngineUser:
    """A user of the engine."""

    name: str = "rally"
    """Its name."""
    password: str = field(default="rally-password", repr=False)
    """Its password; secret."""
    roles: tuple[str, ...] = ("superuser",)
    """Its roles."""

    @property
    def authorization(self) -> str:
        """The value of the Authorization header; secret."""
        return f"Basic {_base64(f'{self.name}:{self.password}'.encode())}"

    @property
    def secrets(self) -> frozenset[str]:
        """What must be neither stored nor shown."""
        return frozenset({self.password, self.authorization.partition(" ")[2]})


def engine_user(variables: Mapping[str, object]) -> EngineUser:
    """Returns the user that the variables of a car describe. Raises UsageError."""
    default = EngineUser()
    name, password, roles = (
        str(variables.get(variable, value)).strip()
        for variable, value in zip(
            USER_VARIABLES, (default.name, default.password, ",".join(default.roles)), strict=True
        )
    )
    if not _NAME.fullmatch(name):
        raise UsageError(
            "xpack_security_user_name cannot be the name of a user", hint="use letters, digits and . _ @ -"
        )
    if name in _RESERVED:
        raise UsageError(
            f"xpack_security_user_name cannot be {name}, which is a user of Elasticsearch itself",
            hint="choose another name; the user gets the role superuser",
        )
    if len(password) < _MIN_PASSWORD or not password.isprintable():
        raise UsageError(
            f"xpack_security_user_password must have at least {_MIN_PASSWORD} printable characters"
        )
    if not _ROLES.fullmatch(roles):
        raise UsageError(
            "xpack_security_user_role is not the name of a role", hint="for example superuser, the default"
        )
    return EngineUser(name, password, tuple(roles.split(",")))


def add_user(config: Path, user: EngineUser) -> None:
    """Adds a user to the file realm in a config folder, unless there is one of this name. Raises OSError,
    also for a file of the archive that is too large.
    """
    users, roles = config / "users", config / "users_roles"
    if any(line.startswith(f"{user.name}:") for line in _lines(users)):
        return
    _write(users, [*_lines(users), f"{user.name}:{hashed(user.password, os.urandom(_SALT_BYTES))}"])
    _write(roles, [*_lines(roles), *(f"{role}:{user.name}" for role in user.roles)])


def hashed(password: str, salt: bytes) -> str:
    """Returns the hash of a password in the form of the file realm."""
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ROUNDS, _BYTES)
    return f"{{PBKDF2}}{_ROUNDS}${_base64(salt)}${_base64(digest)}"


def _lines(file: Path) -> list[str]:
    text = read_regular_file(file, _MAX_BYTES) if exists(file) else b""
    return text.decode("utf-8", "replace").splitlines()


def _write(file: Path, lines: list[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
