"""Reads rendered config files: settings, JVM options and log levels, with which any node can be configured.

Pacenote starts nodes itself, so it needs their values rather than the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

import yaml  # type: ignore[import-untyped]
from msgspec import Struct, field

from pacenote.errors import EngineError
from pacenote.model.printable import single_line
from pacenote.teams.rendering import RenderedFiles

_FOLDER = "config/"
_SETTINGS = ("config/elasticsearch.yml", "config/opensearch.yml")
_JVM_OPTIONS = ("config/jvm.options", "config/jvm.options.d/*.options")
_LOGGING = "config/log4j2.properties"

_SETTING_NAME = re.compile(r"[^\s:#\"'\\]+")
"""Settings are written as lines of a file, so a name must not contain line breaks or quotes."""

_OPTION = re.compile(r"(?:(\d{1,9})(?:(-)(\d{1,9})?)?:)?(-\S.*)")
_HEAP = re.compile(r"-Xm([sx])(\w*)")
_LOGGER = re.compile(r"\s*logger\.([\w.]+?)\.(name|level|additivity|appenderRef\.\S*)\s*=\s*(.*?)\s*")
_ROOT_LEVEL = re.compile(r"\s*rootLogger\.level\s*=\s*(\w+)\s*")
_DEFAULT_LEVEL = "info"


class TeamConfiguration(Struct, frozen=True):
    """The configuration of a node according to the templates of a team repository."""

    heap_size: str = ""
    """The maximum size of the heap, such as `1g`, or empty if no template sets it."""
    jvm_options: tuple[str, ...] = ()
    """The other options of the JVM."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the engine by full name; values are texts, and lists of texts."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Other files, by their paths in the engine's folder."""
    copies: Mapping[str, Path] = field(default_factory=dict)
    """Files that are copied, by their paths in the engine's folder."""


def read_configuration(rendered: RenderedFiles, java_major: int) -> TeamConfiguration:
    """Returns the configuration in rendered files; `java_major` selects JVM options for some versions.

    Raises EngineError for malformed files.
    """
    settings: dict[str, object] = {}
    options: list[str] = []
    others: dict[str, str] = {}
    for path, text in rendered.texts.items():
        if path in _SETTINGS:
            settings.update(parse_settings(path, text))
        elif any(fnmatch(path, pattern) for pattern in _JVM_OPTIONS):
            options.extend(parse_jvm_options(path, text, java_major))
        elif path == _LOGGING:
            # Pacenote reads the log of a node from its output, so only the levels are used.
            settings.update(parse_log_levels(text))
        else:
            others[path] = text
    heap, options = _split_heap(options)
    return TeamConfiguration(heap, tuple(dict.fromkeys(options)), settings, others, rendered.copies)


def parse_settings(path: str, text: str) -> Mapping[str, object]:
    """Returns the settings in YAML by their full names, without those that have no value.

    Values are texts, as the engine reads them: `1:30` and `no` are neither a number nor false. Raises
    EngineError.
    """
    try:
        parsed = yaml.load(text, Loader=yaml.BaseLoader)  # the loader that only creates texts
    except (yaml.YAMLError, RecursionError) as error:
        raise EngineError(
            f"the templates for {path} do not produce YAML: {single_line(str(error))}",
            hint="correct the templates, or the variables in --car-params",
        ) from error
    if parsed in (None, ""):
        return {}
    if not isinstance(parsed, dict):
        raise EngineError(f"the templates for {path} produce {single_line(text)}, which are not settings")
    settings = {name: value for name, value in _flat(parsed, "") if value != ""}
    for name in settings:
        if not _SETTING_NAME.fullmatch(name):
            raise EngineError(
                f"the templates for {path} set {name!r}, which is not the name of a setting",
                hint="correct the templates, or the variables in --car-params",
            )
    return settings


def parse_jvm_options(path: str, text: str, java_major: int) -> Iterator[str]:
    """Yields the options for a version of Java: `8-13:-XX:+UseSerialGC` is for versions 8 to 13.

    Raises EngineError for a line that is not an option.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _OPTION.fullmatch(stripped)
        if match is None:
            raise EngineError(
                f"the templates for {path} produce line {number}, {single_line(stripped)!r}, which is not "
                "an option of the JVM",
                hint="an option begins with -, or with versions of Java as in 8-13:-XX:+UseSerialGC",
            )
        first, dash, last, option = match.groups()
        lowest = int(first or 0)
        highest = int(last) if last else (java_major if dash or not first else lowest)
        if lowest <= java_major <= highest:
            yield option


def parse_log_levels(text: str) -> Mapping[str, object]:
    """Returns the levels in a file of Log4j as settings of the engine.

    Loggers with files of their own, such as slow logs, are omitted.
    """
    loggers: dict[str, dict[str, str]] = {}
    settings: dict[str, object] = {}
    for line in text.splitlines():
        if match := _LOGGER.fullmatch(line):
            loggers.setdefault(match[1], {})[match[2].partition(".")[0]] = match[3]
        elif (match := _ROOT_LEVEL.fullmatch(line)) and match[1].lower() != _DEFAULT_LEVEL:
            settings["logger.level"] = match[1]
    for logger in loggers.values():
        if "name" in logger and "level" in logger and "appenderRef" not in logger:
            settings[f"logger.{logger['name']}"] = logger["level"]
    return settings


def _flat(settings: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _split_heap(options: list[str]) -> tuple[str, list[str]]:
    """Returns the maximum size of the heap and the other options, with a smaller initial size if it has
    one.
    """
    sizes = {"s": "", "x": ""}
    others = []
    for option in options:
        if match := _HEAP.fullmatch(option):
            sizes[match[1]] = match[2] or sizes[match[1]]
        else:
            others.append(option)
    heap = sizes["x"] or sizes["s"]
    if sizes["s"] not in ("", heap):
        others.append(f"-Xms{sizes['s']}")
    return heap, others
