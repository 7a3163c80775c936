"""Parsers of option values: hosts, tags, percentages, dates, numbers."""

from __future__ import annotations

import argparse
import os
import re
import stat
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pacenote.errors import UsageError
from pacenote.model.decoding import parse_json
from pacenote.system.regular_files import read_regular_file
from pacenote.track.params import MAX_CLIENTS, parse_dict, parse_list

DEFAULT_CLUSTER = "default"
"""Rally's name for the cluster under test."""

_LARGEST_SEED = 2**64 - 1
_SECOND_US = 1_000_000
_LAST_PORT = 65_535
_DESCRIPTORS = ("/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/")
_NO_FILES = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISBLK, "a disk"))
_MAX_NAME_CHARS = 255
_MAX_PATH_CHARS = 4095

MOST = 10**12
"""The largest count that an option accepts: nothing that is counted has more, and every program that gets the
number can store it.
"""

_LEAST = 1e-9
"""The smallest number above 0 that an option accepts; `MOST` is the largest."""

_DIGITS = re.compile(r"[+-]?[0-9]{1,20}")
"""A whole number of a length that Python converts."""


def hosts(text: str) -> dict[str, tuple[str, ...]]:
    """Parses `--target-hosts` by cluster: `host:port,…` or a JSON list for the cluster `default`, or a JSON
    object.

    Raises UsageError. Messages never show a host, which may contain a password.
    """
    text = text.strip()
    is_json = text.startswith(("[", "{")) or text.endswith(".json")
    hosts = _json_hosts(text) if is_json else [host.strip() for host in text.split(",") if host.strip()]
    clusters = hosts if isinstance(hosts, dict) else {DEFAULT_CLUSTER: hosts}
    if DEFAULT_CLUSTER not in clusters:
        raise UsageError(
            f"--target-hosts names no cluster '{DEFAULT_CLUSTER}'",
            hint=f"the cluster under test must have that name, not {', '.join(clusters)}",
        )
    return {name: tuple(_host(host) for host in _host_list(listed)) for name, listed in clusters.items()}


def _host_list(listed: object) -> list[object]:
    if not isinstance(listed, list) or not listed:
        raise UsageError(
            "--target-hosts must be a list of hosts", hint="for example --target-hosts=127.0.0.1:9200"
        )
    return listed


def _host(given: object) -> str:
    """Returns a host as text, also from an object as in Rally's JSON files."""
    if isinstance(given, str):
        return given
    if not isinstance(given, dict) or not isinstance(given.get("host"), str):
        raise UsageError(
            "--target-hosts must be a list of hosts",
            hint='write them as "host:port" or {"host": …, "port": …}',
        )
    if unknown := sorted(set(given) - {"host", "port", "url_prefix", "use_ssl"}):
        raise UsageError(
            f"--target-hosts: a host has no key '{unknown[0]}'", hint="host, port, url_prefix, use_ssl"
        )
    name = f"[{given['host']}]" if ":" in given["host"] else given["host"]
    port = f":{given['port']}" if "port" in given else ""
    prefix = f"/{str(given['url_prefix']).strip('/')}" if given.get("url_prefix") else ""
    return f"{'https://' if given.get('use_ssl') else ''}{name}{port}{prefix}"


def escaped_list(text: str) -> tuple[str, ...]:
    """Returns the parts between commas that are not empty; a comma after a backslash is part of a name."""
    parts = (part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", text))
    return tuple(filter(None, parts))


def tags(text: str) -> dict[str, Any]:
    """Parses `--user-tags`. Raises UsageError."""
    return parse_dict(text, "--user-tags")


def track_params(text: str) -> dict[str, Any]:
    """Parses `--track-params`. Raises UsageError."""
    return parse_dict(text, "--track-params")


def car_params(text: str) -> dict[str, Any]:
    """Parses `--car-params`. Raises UsageError."""
    return parse_dict(text, "--car-params")


def share(text: str) -> float:
    """Converts a percentage, with or without `%`, to a fraction.

    Raises ArgumentTypeError, so that the message names the option.
    """
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0.0 <= percent <= 100.0:
        raise argparse.ArgumentTypeError(f"must be a percentage from 0 to 100, not '{text}'")
    return percent / 100.0


def day(text: str) -> date:
    """Parses a date in Rally's format, `yyyyMMdd`. Raises UsageError."""
    try:
        return datetime.strptime(text, "%Y%m%d").date()
    except ValueError:
        raise UsageError(
            f"'{text}' is not a date", hint="dates are written yyyyMMdd, for example 20250131"
        ) from None


def moment(text: str) -> datetime:
    """Parses a time in Rally's format, `yyyy-MM-dd HH:mm:ss`, in UTC. Raises UsageError."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(
            f"'{text}' is not a time", hint="times are written like '2025-01-31 23:59:59', in UTC"
        ) from None


def mirrors(text: str) -> tuple[str, ...]:
    """Parses `--corpus-mirror`: a list of `URL` or `PREFIX=URL`. Raises UsageError."""
    texts = tuple(str(mirror) for mirror in parse_list(text, "--corpus-mirror"))
    for mirror in texts:
        schemes = ("http://", "https://", "s3://", "gs://")
        prefix_url = mirror.partition("=")[2]
        if mirror.endswith("=") or not (mirror.startswith(schemes) or prefix_url.startswith(schemes)):
            raise UsageError(
                "--corpus-mirror must be a URL or PREFIX=URL",
                hint="for example --corpus-mirror=http://HOST:PORT/tracks",
            )
    return texts


def seed(text: str) -> int:
    """Parses a seed: a 64-bit whole number that is not negative. Raises UsageError."""
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) > _LARGEST_SEED:
        raise UsageError(f"--seed must be a whole number from 0 to 2^64 - 1, not '{text}'")
    return int(text)


def count(text: str) -> int:
    """Parses a whole number from 0 to `MOST`. Raises ArgumentTypeError: the message names the option."""
    return _whole_number(text, 0, MOST, "of at least 0")


def positive(text: str) -> int:
    """Parses a whole number from 1 to `MOST`. Raises ArgumentTypeError: the message names the option."""
    return _whole_number(text, 1, MOST, "above 0")


def clients(text: str) -> int:
    """Parses a number of clients, from 1 to `MAX_CLIENTS`. Raises ArgumentTypeError: the message names the
    option.
    """
    return _whole_number(text, 1, MAX_CLIENTS, f"from 1 to {MAX_CLIENTS:,}")


def clients_or_none(text: str) -> int:
    """Parses a number of clients, or 0. Raises ArgumentTypeError: the message names the option."""
    return _whole_number(text, 0, MAX_CLIENTS, f"from 0 to {MAX_CLIENTS:,}")


def port(text: str) -> int:
    """Parses a port. Raises ArgumentTypeError, so that the message names the option."""
    return _whole_number(text, 1, _LAST_PORT, f"from 1 to {_LAST_PORT}")


def microseconds(text: str) -> int:
    """Parses a number of microseconds, at most a second.

    Raises ArgumentTypeError, so that the message names the option.
    """
    return _whole_number(text, 0, _SECOND_US, f"from 0 to {_SECOND_US}")


def _whole_number(text: str, lowest: int, highest: int, limits: str) -> int:
    is_short = _DIGITS.fullmatch(text.strip()) is not None
    number = int(text) if is_short else MOST + 1 if text.strip().isdecimal() else lowest - 1
    if highest == MOST < number:
        raise argparse.ArgumentTypeError(f"must be at most {MOST:,}, not '{text}'")
    if not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(f"must be a whole number {limits}, not '{text}'")
    return number


def above_zero(text: str) -> float:
    """Parses a number above 0 and at most `MOST`. Raises ArgumentTypeError, so that the message names the
    option.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not '{text}'")
    if not _LEAST <= number <= MOST:
        raise argparse.ArgumentTypeError(f"must be from {_LEAST:g} to {MOST:,}, not '{text}'")
    return number


def path(text: str) -> Path:
    """Parses a path and expands `~`, which shells do not expand after `=`.

    Raises ArgumentTypeError, so that the message names the option.
    """
    if len(text) > _MAX_PATH_CHARS or any(len(name) > _MAX_NAME_CHARS for name in text.split("/")):
        raise argparse.ArgumentTypeError(
            f"is not a path: a name has at most {_MAX_NAME_CHARS} characters, a path {_MAX_PATH_CHARS}"
        )
    return Path(os.path.expanduser(text))  # noqa: PTH111  # Path.expanduser raises for unknown users


def output_file(text: str) -> Path:
    """Parses the path of a file to write. Raises ArgumentTypeError for what is not a file: writing to a named
    pipe waits for a reader. The descriptors of the process, such as `/dev/stdout`, may be pipes.
    """
    file = path(text)
    if os.path.abspath(file).startswith(_DESCRIPTORS):  # noqa: PTH100  # links must stay
        return file
    try:
        mode = os.stat(file).st_mode  # noqa: PTH116  # raises no error for the loop of a link
    except (OSError, ValueError):
        return file
    for is_kind, name in _NO_FILES:
        if is_kind(mode):
            raise argparse.ArgumentTypeError(f"is {name}, not a file: '{text}'; name a file, or /dev/stdout")
    return file


def page_file(text: str) -> str:
    """Parses the path of a page, which may be empty. Raises ArgumentTypeError as `output_file` does."""
    return str(output_file(text)) if text else text


def paths(text: str) -> tuple[Path, ...]:
    """Returns the paths in a list separated by commas. Raises UsageError."""
    return tuple(path(each.strip()) for each in text.split(",") if each.strip())


def _json_hosts(text: str) -> object:
    try:
        return parse_json(read_regular_file(path(text)) if text.endswith(".json") else text)
    except OSError as error:
        raise UsageError(f"--target-hosts: {text} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError("--target-hosts is not valid JSON") from error
