"""Which files and folders other users of this machine could replace.

Trusted are root, the user who calls Pacenote and, for root, the user who has called `sudo`. Users share
folders through groups, so that an ordinary user trusts the members of all groups of which it is one, in
folders of such a group; root trusts only its own group. Who is a member is not looked up: neither a folder of
another group nor an access control list that names a user is trusted because of it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from pacenote.system.access_list import Writers, writers_of, writers_of_new

_MAX_LINKS = 40
"""Links that the kernel follows in one path."""


def replaceable_folder(folder: Path, *, trusts_owner: bool = False, must_exist: bool = False) -> str:
    """Returns which folder another user could replace, and why: this one, one that leads to it, or a link on
    the way; empty if there is none. What does not exist yet cannot be replaced, but it was if it existed a
    moment ago: so if something was read, or created, it `must_exist`.

    With `trusts_owner`, the owner of the folder itself is trusted, because the user has named it to run its
    code; except where all users may create folders. The folder itself must not be one of those: others could
    add code to it.
    """
    trusted = _trusted_users()
    if trusts_owner and folder.exists():
        trusted |= {folder.stat().st_uid}
    problem, last, shared = _way_to(folder, trusted)
    if problem:
        return problem
    if must_exist and not (folder.is_dir() and folder.samefile(last)):
        return f"{folder} is replaced or removed"
    if others := _writers_of_new(last):
        return f"{last} lets {others} write to what is created in it, by its default access control list"
    return _open_to_all(folder) if trusts_owner and shared else ""


def exchangeable_folder(folder: Path) -> str:
    """Returns why another user could exchange a folder, or what is in it, for something else between two
    looks at it; empty if none can. In one that is missing or cannot be looked at, anything may be next.

    Unlike for `replaceable_folder`, a default access control list does not matter: it is for folders whose
    files only their owner may write to, such as those of races.
    """
    try:
        problem, last, shared = _way_to(folder, _trusted_users())
        if not problem and not (folder.is_dir() and folder.samefile(last)):
            problem = f"{folder} is replaced or removed"
    except OSError as error:
        return f"{folder} cannot be looked at ({error.strerror})"
    return problem or (_open_to_all(folder) if shared else "")


def changeable_by_others(folder: Path, files: Iterable[Path]) -> str:
    """Returns why another user could exchange a folder, or change these files in it, between two looks at
    them; empty if none can. In a folder that others can enter, those who can create a missing file could also
    exchange the others. One that they cannot enter may have been moved there from another user, who may still
    have it open.
    """
    if _is_closed(folder.parent):
        return _owned_by_others((folder, *files))
    if problem := exchangeable_folder(folder):
        return problem
    if _is_closed(folder):
        return ""
    for file in files:
        try:
            problem = _problem(file, file.lstat(), _trusted_users(), by_group=True)
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{file} cannot be looked at ({error.strerror})"
        if problem:
            return f"{file} {problem}"
    return ""


def _owned_by_others(paths: Iterable[Path]) -> str:
    """Returns which of these folders and files belongs to another user; empty if none does."""
    for path in paths:
        try:
            owner = path.lstat().st_uid
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{path} cannot be looked at ({error.strerror})"
        if owner not in _trusted_users():
            return f"{path} belongs to user {_user_name(owner)}"
    return ""


def _is_closed(folder: Path) -> bool:
    """Returns whether no other user can enter a folder, whatever the permissions are of what is in it."""
    try:
        is_private = not folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    except OSError:
        return False
    return is_private and not exchangeable_folder(folder)


def _way_to(folder: Path, trusted: frozenset[int]) -> tuple[str, Path, bool]:
    """Returns which folder or link on the way to a folder another user could replace, or the folder itself;
    the last one that was looked at; and whether all users may create files in that.
    """
    shared, last = False, Path("/")
    for current, status in _steps(folder.absolute()):
        # In a folder such as /tmp, whoever was first has created it.
        owners = _trusted_users() if shared else trusted
        if problem := _problem(current, status, owners, by_group=not shared):
            return f"{current} {problem}", current, False
        shared, last = _is_shared(current, status, owners), current
    return "", last, shared


def _open_to_all(folder: Path) -> str:
    return f"{folder} is a folder in which all users may create files"


def create_folder(folder: Path) -> str:
    """Creates a folder if it is missing, with those above it, and returns what `replaceable_folder` does,
    also if another user has created it in the meantime. Raises OSError.
    """
    if problem := replaceable_folder(folder):
        return problem
    folder.mkdir(parents=True, exist_ok=True)
    return replaceable_folder(folder, must_exist=True)


def planted_by(status: os.stat_result) -> str:
    """Returns which other user has created what is in a folder such as /tmp; empty for a trusted one."""
    trusted = status.st_uid in _trusted_users()
    return "" if trusted else f"belongs to user {_user_name(status.st_uid)}"


def is_shared_folder(folder: Path) -> bool:
    """Returns whether a folder is one such as /tmp, in which all users may create files. Raises OSError."""
    return _is_shared(folder, folder.stat(), _trusted_users())


def replaceable_file(file: Path, *, must_exist: bool = False) -> str:
    """Returns what another user could replace of a file: itself or a folder that leads to it; empty if there
    is nothing. Where a link leads is the decision of its owner. A file that was read `must_exist`.
    """
    if problem := replaceable_folder(file.parent, must_exist=must_exist):
        return problem
    try:
        status = file.lstat()
    except OSError:
        return f"{file} is replaced or removed" if must_exist else ""
    by_group = not is_shared_folder(file.parent)
    problem = _problem(file, status, _trusted_users(), by_group=by_group)
    return f"{file} {problem}" if problem else ""


def is_writable_by_others(path: Path) -> bool:
    """Returns whether other users may write to a file or folder; the group of this process may be that of one
    user. Raises OSError.
    """
    return bool(_other_writers(path, path.stat(), _trusted_users(), frozenset({os.getegid()})))


def open_shared_lock(file: Path) -> int:
    """Opens the file of a lock as `open_lock` does; the group of a folder that users share can open it, too.
    Raises OSError.
    """
    shared = file.parent.stat().st_mode & stat.S_IWGRP
    mode = stat.S_IRUSR | stat.S_IWUSR | (stat.S_IRGRP | stat.S_IWGRP if shared else 0)
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file, flags, mode)
    status = os.fstat(descriptor)
    # With two names, it may be another file that others have linked here.
    is_own = status.st_uid == os.geteuid() and status.st_nlink == 1
    if is_own and stat.S_IMODE(status.st_mode) != mode:
        # It is one of an earlier version, or the umask keeps out a group that shares the folder. Not all file
        # systems have permissions.
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, mode)
    return descriptor


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yields the folders and links that lead to a path, as the kernel follows them."""
    current, links = Path(path.anchor), 0
    yield current, current.lstat()
    waiting = list(reversed(path.parts[1:]))
    while waiting:
        name = waiting.pop()
        if name == "..":
            # What follows is in another folder, in which others may create files.
            current = current.parent
            yield current, current.lstat()
            continue
        step = current / name
        try:
            status = step.lstat()
            target = step.readlink() if stat.S_ISLNK(status.st_mode) else None
        except OSError:
            return
        if target is None:
            if not stat.S_ISDIR(status.st_mode):
                return
            current = step
            yield current, status
            continue
        yield step, status
        links += 1
        if links > _MAX_LINKS:
            return
        if target.is_absolute():
            current = Path(target.anchor)
            waiting += reversed(target.parts[1:])
            # The next name is again one in the root folder.
            yield current, current.lstat()
        else:
            waiting += reversed(target.parts)
            yield current, current.lstat()


def _problem(path: Path, status: os.stat_result, trusted: frozenset[int], *, by_group: bool) -> str:
    """Returns why another user may replace what is in a folder or file. `by_group` is whether its group says
    that it is shared.
    """
    in_group = status.st_gid in _trusted_groups()
    if status.st_uid not in trusted and not (in_group and by_group and os.geteuid() != 0):
        return f"belongs to user {_user_name(status.st_uid)}"
    # The permissions of a link mean nothing.
    if stat.S_ISLNK(status.st_mode) or _is_shared(path, status, trusted):
        return ""
    others = _other_writers(path, status, trusted, _trusted_groups())
    return f"can be written by {others}" if others else ""


def _is_shared(path: Path, status: os.stat_result, trusted: frozenset[int]) -> bool:
    """Returns whether a folder is one such as /tmp, in which users cannot rename the files of others."""
    is_sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    return bool(is_sticky and _other_writers(path, status, trusted, _trusted_groups()))


def _other_writers(path: Path, status: os.stat_result, users: frozenset[int], groups: frozenset[int]) -> str:
    """Returns which others than these users and groups may write to a file or folder; empty if none may."""
    writers = writers_of(path, status)
    if status.st_mode & stat.S_IWOTH or (writers.owning_group and status.st_gid not in groups):
        return "other users"
    named = _named_writers(writers, users, groups)
    return f"{named}, by its access control list" if named else ""


def _writers_of_new(folder: Path) -> str:
    """Returns which others may write to what this process creates in a folder; empty if none may."""
    writers, groups = writers_of_new(folder), _trusted_groups()
    try:
        status = folder.stat()
    except OSError:
        return ""  # It is the last of too many links.
    gives_group = status.st_mode & stat.S_ISGID and status.st_gid not in groups
    if writers.everyone or (writers.owning_group and gives_group):
        return "other users"
    return _named_writers(writers, _trusted_users(), groups)


def _named_writers(writers: Writers, users: frozenset[int], groups: frozenset[int]) -> str:
    """Returns the first user or group of a list that is not one of these."""
    for user in sorted(writers.users - users):
        return f"user {_user_name(user)}"
    for group in sorted(writers.groups - groups):
        return f"group {group}"
    return ""


def _trusted_users() -> frozenset[int]:
    caller = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    called_by = {int(caller)} if caller.isascii() and caller.isdigit() else set[int]()
    return frozenset({0, os.geteuid()} | called_by)


def _trusted_groups() -> frozenset[int]:
    return frozenset({os.getegid(), *(() if os.geteuid() == 0 else os.getgroups())})


def _user_name(user: int) -> str:
    try:
        return f"{user} ({pwd.getpwuid(user).pw_name})"
    except KeyError:
        return str(user)
