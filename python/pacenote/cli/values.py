"""Option values that need more than a type: hosts, tags, shares, dates."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pacenote.errors import UsageError
from pacenote.track.params import parse_dict, parse_list

_LARGEST_SEED = 2**64 - 1


def hosts(text: str) -> tuple[str, ...]:
    """`--target-hosts`: `host:port,…`, a JSON list, or Rally's object with the one cluster `default`.

    Raises UsageError. Messages never show a host: it may hold a password.
    """
    text = text.strip()
    is_json = text.startswith(("[", "{")) or text.endswith(".json")
    found = _json_hosts(text) if is_json else [host.strip() for host in text.split(",") if host.strip()]
    if not isinstance(found, list) or not found or not all(isinstance(host, str) for host in found):
        raise UsageError(
            "--target-hosts must be a list of hosts", hint="for example --target-hosts=127.0.0.1:9200"
        )
    return tuple(found)


_CLIENT_OPTIONS = ("timeout", "basic_auth_user", "basic_auth_password", "api_key")


def client_options(text: str) -> dict[str, Any]:
    """`--client-options`: timeout (seconds) and credentials, by the fields of a race request.

    Raises UsageError, also for what comes later. Messages show no value: it may be a password.
    """
    option = "--client-options"
    given = parse_dict(text, option)
    if isinstance(given.get("default"), Mapping):
        given = dict(given["default"])
    for name in given:
        if name not in _CLIENT_OPTIONS:
            raise UsageError(
                f"{option}: '{name}' is not available yet", hint=f"there is {', '.join(_CLIENT_OPTIONS)}"
            )
    seconds = given.get("timeout", 60)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        raise UsageError(f"{option}: timeout must be a number of seconds above 0")
    fields: dict[str, Any] = {"timeout_s": float(seconds)}
    if ("basic_auth_user" in given) != ("basic_auth_password" in given):
        raise UsageError(f"{option}: basic_auth_user and basic_auth_password go together")
    if "basic_auth_user" in given:
        fields["basic_auth"] = (str(given["basic_auth_user"]), str(given["basic_auth_password"]))
    if "api_key" in given:
        if "basic_auth" in fields:
            raise UsageError(f"{option}: give either basic_auth_user or api_key, not both")
        fields["api_key"] = str(given["api_key"])
    return fields


def tags(text: str) -> dict[str, str]:
    """`--user-tags`: names and texts. Raises UsageError."""
    given = parse_dict(text, "--user-tags")
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def share(text: str) -> float:
    """A percentage, with or without its sign, as a share of 1. Raises UsageError."""
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0.0 <= percent <= 100.0:
        raise UsageError(f"--max-error-rate must be a percentage from 0 to 100, not '{text}'")
    return percent / 100.0


def day(text: str) -> date:
    """A date as Rally writes it, `yyyyMMdd`. Raises UsageError."""
    try:
        return datetime.strptime(text, "%Y%m%d").date()
    except ValueError:
        raise UsageError(
            f"'{text}' is no date", hint="dates are written yyyyMMdd, for example 20250131"
        ) from None


def moment(text: str) -> datetime:
    """A time as Rally writes it, `yyyy-MM-dd HH:mm:ss`, in UTC. Raises UsageError."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(
            f"'{text}' is no time", hint="times are written like '2025-01-31 23:59:59', in UTC"
        ) from None


def mirrors(text: str) -> tuple[str, ...]:
    """`--corpus-mirror`: a list of `URL` or `PREFIX=URL`. Raises UsageError."""
    found = tuple(str(mirror) for mirror in parse_list(text, "--corpus-mirror"))
    for mirror in found:
        schemes = ("http://", "https://", "s3://", "gs://")
        prefix_url = mirror.partition("=")[2]
        if mirror.endswith("=") or not (mirror.startswith(schemes) or prefix_url.startswith(schemes)):
            raise UsageError(
                "--corpus-mirror must be a URL or PREFIX=URL",
                hint="for example --corpus-mirror=http://HOST:PORT/tracks",
            )
    return found


def seed(text: str) -> int:
    """A seed: a whole number of 64 bits, not negative. Raises UsageError."""
    if not text.isascii() or not text.isdigit() or int(text) > _LARGEST_SEED:
        raise UsageError(f"--seed must be a whole number from 0 to 2^64 - 1, not '{text}'")
    return int(text)


def count(text: str) -> int:
    """A whole number that is not negative. Raises ValueError, which argparse words."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def positive(text: str) -> int:
    """A whole number above 0. Raises ValueError, which argparse words."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def path(text: str) -> Path:
    """A path, with `~` for the home of its user, as no shell reads it behind `=` or in a configuration."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  # Path.expanduser raises for users there are none of


def _json_hosts(text: str) -> object:
    try:
        found = json.loads(path(text).read_text("utf-8") if text.endswith(".json") else text)
    except OSError as error:
        raise UsageError(f"--target-hosts: {text} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError("--target-hosts is no valid JSON") from error
    if not isinstance(found, dict):
        return found
    if set(found) != {"default"}:
        raise UsageError(
            "--target-hosts: races against several clusters come later", hint="name one cluster 'default'"
        )
    return found["default"]
