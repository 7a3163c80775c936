"""Versions of Elasticsearch."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Self

from pacenote.model.engine import SERVERLESS
from pacenote.plugins.rally_api.errors import InvalidSyntax

Components = tuple[int, int | None, int | None, str | None]
"""Major, minor, patch and suffix of a version."""

_STRICT = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(.+))?")
_LENIENT = re.compile(r"(\d+)(?:\.(\d+)(?:\.(\d+)(?:-(.+))?)?)?")


def is_version_identifier(text: str | None, strict: bool = True) -> bool:
    """Returns whether a text is a version; unless `strict`, only the major version is needed."""
    return text is not None and (_STRICT if strict else _LENIENT).fullmatch(text) is not None


def is_serverless(text: str | None) -> bool:
    """Returns whether this is the version or the flavor of a serverless cluster."""
    return text == SERVERLESS


def components(version: str, strict: bool = True) -> Components:
    """Returns the components of a version. Raises `InvalidSyntax`."""
    match = (_STRICT if strict else _LENIENT).fullmatch(version)
    if match is None:
        raise InvalidSyntax(f"version string '{version}' is not major.minor.patch-suffix")
    major, minor, patch, suffix = match.groups()
    return int(major), None if minor is None else int(minor), None if patch is None else int(patch), suffix


def major_version(version: str) -> int:
    """Returns the major version. Raises `InvalidSyntax`."""
    return components(version)[0]


def variants_of(version: str) -> Iterator[str]:
    """Yields the version and its beginnings, from `8.1.2-rc1` to `8`. Raises `InvalidSyntax`."""
    major, minor, patch, suffix = components(version)
    if suffix is not None:
        yield version
    yield f"{major}.{minor}.{patch}"
    yield f"{major}.{minor}"
    yield str(major)


@functools.total_ordering
class Version:
    """A version; suffixes are not compared."""

    def __init__(self, major: int, minor: int, patch: int, suffix: str | None = None) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.suffix = suffix

    @classmethod
    def from_string(cls, v: str) -> Self:
        """Returns the version that a text states. Raises `InvalidSyntax`."""
        major, minor, patch, suffix = components(v)
        return cls(major, minor or 0, patch or 0, suffix)

    def _numbers(self) -> tuple[int, int, int]:
        return (self.major, self.minor, self.patch)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._numbers() == other._numbers()

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Version) and self._numbers() < other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def __repr__(self) -> str:
        numbers = ".".join(map(str, self._numbers()))
        return f"{numbers}-{self.suffix}" if self.suffix else numbers
