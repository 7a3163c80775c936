"""Removes secrets from a text file that another program has written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from pacenote.model.secrets import redact, redact_urls
from pacenote.store.atomic_files import PRIVATE_FILE, is_regular_file, store_error, sync_folder

_MAX_LINE_CHARS = 1 << 20
"""Characters of a longer line are redacted in parts, so that no file exhausts the memory."""

_OVERLAP_CHARS = 1 << 16
"""Characters at the end of a part that are redacted again with the next one: a secret may be in both."""


def redact_file(path: Path, secrets: Collection[str]) -> None:
    """Replaces a file by a copy without secrets and user information of URLs, if it contains any.

    Does nothing if it is not a regular file. Raises StoreError if it cannot be read or replaced.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        # One that was left behind is not written to, because it may be a link.
        temporary.unlink(missing_ok=True)
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        with (
            os.fdopen(source, encoding="utf-8", errors="surrogateescape", newline="\n") as old,
            os.fdopen(target, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as new,
        ):
            changed, waiting = False, ""
            while is_regular_file(os.fstat(source)) and (part := old.readline(_MAX_LINE_CHARS)):
                text = waiting + part
                hidden = redact_urls(redact(text, secrets))
                changed |= hidden != text
                written = len(hidden) if part.endswith("\n") else max(0, len(hidden) - _OVERLAP_CHARS)
                new.write(hidden[:written])
                waiting = hidden[written:]
            new.write(waiting)
            new.flush()
            if changed:
                os.fsync(target)
        if changed:
            temporary.replace(path)
            sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise store_error("remove secrets from", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
