"""The options that configure the engine to start: team repositories, plugins, and single settings."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from pacenote.cli.options import values
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.car_options import CarOverrides
from pacenote.model.team_options import TeamOptions
from pacenote.track.params import parse_dict, parse_list

CAR_OPTIONS = (
    *("car", "car_params", "team_path", "team_repository", "team_revision"),
    *("elasticsearch_plugins", "plugin_params", "jvm", "env"),
)
"""Options that have no effect on an existing cluster."""

_ENGINE = "engine."
_INDEX = "index."

_OF_NODES = ("action.", "bootstrap.", "cluster.", "http.", "indices.", "node.", "thread_pool.", "transport.")
"""Beginnings of settings that indices do not have."""


class _Collected(argparse.Action):
    """An option that can be given several times: dictionaries are merged, and lists joined."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # of the protocol
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        earlier = getattr(namespace, self.dest)
        joined = {**earlier, **values} if isinstance(values, dict) else (*earlier, *values)
        setattr(namespace, self.dest, joined)


def add_car_options(parser: Parser) -> None:
    """Adds the options that configure the engine to start."""
    parser.add_argument(
        "--car",
        metavar="NAME,…",
        help="configuration of the engine, see `pacenote list cars` (default: defaults)",
    )
    parser.add_argument(
        "--car-params",
        type=values.car_params,
        default="",
        help="parameters of the car: k:v,k2:v2 or JSON (default: none)",
    )
    add_team_options(parser)
    parser.add_argument(
        "--elasticsearch-plugins",
        "--opensearch-plugins",
        metavar="NAME,…",
        default="",
        help="plugins to install, as transport-nio:http+transport, or their archives (default: none)",
    )
    parser.add_argument(
        "--plugin-params",
        type=plugin_params,
        default="",
        help="parameters of the plugins: k:v,k2:v2 or JSON (default: none)",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action=_Collected,
        type=settings,
        default={},
        metavar="KEY=VALUE",
        help="setting engine.NAME, or index.NAME of all indices that the track creates; can be repeated "
        "(default: none)",
    )
    parser.add_argument(
        "--jvm",
        action=_Collected,
        type=jvm_options,
        default=(),
        metavar="OPTION",
        help="option of the engine's JVM, as in --jvm=-XX:+UseZGC; can be repeated (default: none)",
    )
    parser.add_argument(
        "--env",
        action=_Collected,
        type=environment,
        default={},
        metavar="NAME=VALUE",
        help="environment variable of the engine; can be repeated (default: only PATH and TZ)",
    )


def add_team_options(parser: Parser) -> None:
    """Adds the options that select a team repository."""
    parser.add_argument(
        "--team-repository",
        help="git repository with cars: a name, a URL, or `bundled` (default: the built-in cars)",
    )
    parser.add_argument(
        "--team-path", type=values.path, help="folder with cars, in place of a repository (default: none)"
    )
    parser.add_argument(
        "--team-revision", help="commit, branch or tag of it (default: the branch for the engine's version)"
    )


def team_options(options: argparse.Namespace) -> TeamOptions:
    """Returns the team repository that the options select; options that a command lacks are not given."""
    path = getattr(options, "team_path", None)
    return TeamOptions(
        path=None if path is None else path.absolute(),
        repository=getattr(options, "team_repository", None),
        revision=getattr(options, "team_revision", None),
        urls=getattr(options, "team_urls", {}),
        rally_clones=getattr(options, "rally_teams", None),
    )


def car_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the configuration of the engine, by field of `EngineOptions`. Raises UsageError."""
    given = vars(options)
    names = parse_list(given.get("car") or "", "--car")
    plugins = parse_list(given.get("elasticsearch_plugins") or "", "--elasticsearch-plugins")
    return {
        "car": tuple(str(name) for name in names),
        "car_params": given.get("car_params"),
        "team": team_options(options),
        "plugins": tuple(str(name) for name in plugins),
        "plugin_params": given.get("plugin_params"),
        "overrides": CarOverrides(
            settings=_named(given.get("settings") or {}, _ENGINE),
            jvm_options=tuple(given.get("jvm") or ()),
            environment=given.get("env") or {},
        ),
    }


def index_settings(options: argparse.Namespace) -> dict[str, str]:
    """Returns the settings of indices, by their full names."""
    return {name: value for name, value in options.settings.items() if name.startswith(_INDEX)}


def engine_settings(options: argparse.Namespace) -> dict[str, str]:
    """Returns the settings of the engine, by their full names."""
    return _named(options.settings, _ENGINE)


def plugin_params(text: str) -> dict[str, Any]:
    """Parses `--plugin-params`. Raises UsageError."""
    return parse_dict(text, "--plugin-params")


def settings(text: str) -> dict[str, str]:
    """Parses `--set`: `KEY=VALUE`, or a JSON object. Raises UsageError."""
    pairs = _pairs(text, "--set", "engine.indices.memory.index_buffer_size=25%")
    for name in pairs:
        if not name.startswith((_ENGINE, _INDEX)) or name in (_ENGINE, _INDEX):
            raise UsageError(
                f"--set: {name} is a setting of neither the engine nor indices",
                hint=_prefixed(name),
            )
    return pairs


def _prefixed(name: str) -> str:
    """Returns a hint with the prefix that the name of a setting lacks."""
    if name.startswith(_OF_NODES):
        return f"write engine.{name}"
    return f"write engine.{name}, or index.{name} for a setting of indices"


def environment(text: str) -> dict[str, str]:
    """Parses `--env`: `NAME=VALUE`, or a JSON object. Raises UsageError."""
    return _pairs(text, "--env", "MALLOC_ARENA_MAX=2")


def jvm_options(text: str) -> tuple[str, ...]:
    """Parses `--jvm`: one option, or a JSON list. Raises UsageError."""
    if not text.startswith("["):
        return (text,)
    return tuple(str(option) for option in parse_list(text, "--jvm"))


def _pairs(text: str, option: str, example: str) -> dict[str, str]:
    if text.startswith("{"):
        return {name: _as_text(value) for name, value in parse_dict(text, option).items()}
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # The text may be secret.
        raise UsageError(f"{option} must be a name, = and a value", hint=f"for example {option} {example}")
    return {name.strip(): value}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _named(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Returns the settings whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}
