"""Where an archive is: a version in a repository of the vendor or of the user, a URL, or a file.

The templates of addresses and the keys of `[distributions]` are Rally's: `NAME.url`, `NAME.cache` and
`plugin.PLUGIN.NAME.url`, with the placeholders {{VERSION}}, {{OSNAME}} and {{ARCH}}.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from pacenote.errors import UsageError
from pacenote.fetch.remote_file import resolve
from pacenote.model.archive_options import ArchiveOptions
from pacenote.provision.distributions.official import OfficialArchive

DEFAULT_REPOSITORY = "release"
"""The repository of the released versions."""

_ARCHIVE_NAME = re.compile(
    r"(?P<name>[a-z]+)(?:-(?:min|oss|no-jdk))*-(?P<version>\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\d+)?(?:-SNAPSHOT)?)"
    r"(?:[-.].*)?"
)
_CACHE = re.compile(r"true|yes|on|1|t|y", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """An archive that is installed."""

    distribution: str
    """The name of the distribution."""
    version: str
    """The version of the engine."""
    location: str = field(repr=False)
    """The URL, which may contain credentials, or the absolute path of the archive."""
    repository: str = ""
    """The name of the repository, or empty for a URL or a file."""
    reused: bool = True
    """Whether an archive that was downloaded before is used without asking the server for another one."""
    checked: bool = False
    """Whether the archive must have a checksum beside it, as the vendors' archives have."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file of this machine."""
        return self.location.startswith("/")

    @property
    def address(self) -> str:
        """The URL without credentials and query, or the path."""
        return self.location if self.is_file else resolve(self.location).display_url

    @property
    def file_name(self) -> str:
        """The name of the archive."""
        return self.address.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.address})"


def archive_source(official: OfficialArchive, version: str, options: ArchiveOptions) -> ArchiveSource:
    """Returns the archive that the options select. Raises UsageError."""
    if options.location is not None:
        return ArchiveSource(official.name, version, options.location)
    name = options.repository or DEFAULT_REPOSITORY
    template = _template(name, official, options.distributions)
    cached = options.distributions.get(f"{name}.cache", str(name == DEFAULT_REPOSITORY))
    return ArchiveSource(
        official.name,
        version,
        render_address(template, version, official),
        repository=name,
        reused=_CACHE.fullmatch(cached.strip()) is not None,
        checked=template == official.repositories.get(name),
    )


def archive_location(text: str) -> str:
    """Returns `--distribution-archive` as a URL or an absolute path. Raises UsageError."""
    if "://" in text:
        scheme, _, rest = text.partition("://")
        if scheme != "file":
            resolve(text)
            return text
        text = rest
    return str(Path(os.path.expanduser(text)).absolute())  # noqa: PTH111  # Path.expanduser raises for unknown users


def engine_of_archive(location: str, names: Mapping[str, object]) -> tuple[str, str]:
    """Returns the name and the version of the engine that the name of an archive states; what it does not
    state is empty.
    """
    file_name = location.partition("?")[0].rpartition("/")[2]
    match = _ARCHIVE_NAME.match(file_name.removesuffix(".tgz").removesuffix(".tar.gz"))
    if match is None or match["name"] not in names:
        return "", ""
    return match["name"], match["version"]


def plugin_address(
    plugin: str, version: str, official: OfficialArchive, options: ArchiveOptions
) -> str | None:
    """Returns the address of a plugin in `[distributions]`, or None if it has none there."""
    template = options.distributions.get(f"plugin.{plugin}.{options.repository or DEFAULT_REPOSITORY}.url")
    return None if template is None else render_address(template, version, official)


def render_address(template: str, version: str, official: OfficialArchive) -> str:
    """Returns an address with the values of Rally's placeholders."""
    machine = os.uname().machine
    values = {
        "{{VERSION}}": version,
        "{{OSNAME}}": "linux",
        "{{ARCH}}": official.architectures.get(machine, machine),
    }
    for placeholder, value in values.items():
        template = template.replace(placeholder, value)
    return template


def _template(name: str, official: OfficialArchive, distributions: Mapping[str, str]) -> str:
    """Returns the template of a repository; configured ones override those of the vendor."""
    configured = {key.removesuffix(".url"): value for key, value in distributions.items() if _is_url(key)}
    known = {**official.repositories, **configured}
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"define {name}.url in [distributions]"
    raise UsageError(
        f"unknown repository '{name}' in --distribution-repository; known: {', '.join(sorted(known))}",
        hint=hint,
    )


def _is_url(key: str) -> bool:
    return key.endswith(".url") and not key.startswith("plugin.")
