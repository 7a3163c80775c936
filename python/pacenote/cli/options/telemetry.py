"""The options for the telemetry devices of a race."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pacenote.track.params import parse_dict, parse_list

if TYPE_CHECKING:
    from pacenote.cli.parser import Parser
    from pacenote.model.telemetry_options import TelemetryOptions

TELEMETRY_OPTIONS = ("default_telemetry", "telemetry", "telemetry_params")
"""The options, by their names in the parsed arguments."""


def add_telemetry_options(parser: Parser) -> None:
    """Adds the options for optional telemetry devices."""
    with parser.group("telemetry"):
        parser.add_argument(
            "--telemetry",
            type=devices,
            metavar="DEVICES",
            default=(),
            help="optional devices, such as jfr,node-stats; see `pacenote list telemetry` (default: none)",
        )
        parser.add_flag(
            "--default-telemetry",
            default=True,
            help="run the devices that are always on, and sample the host (the default)",
            harmless=True,
        )
        parser.add_argument(
            "--telemetry-params",
            type=params,
            metavar="PARAMS",
            default={},
            help="parameters of devices: k:v,k2:v2 or JSON (default: none)",
        )


def devices(text: str) -> tuple[str, ...]:
    """Parses `--telemetry`. Raises UsageError."""
    return tuple(dict.fromkeys(map(str, parse_list(text, "--telemetry"))))


def params(text: str) -> dict[str, Any]:
    """Parses `--telemetry-params`. Raises UsageError."""
    return parse_dict(text, "--telemetry-params")


def telemetry_options(options: argparse.Namespace, *, starts_engine: bool) -> TelemetryOptions:
    """Returns the optional devices of a race; `starts_engine` is whether it starts an engine on this host.

    Raises UsageError for unknown devices and parameters, and for devices that cannot run.
    """
    # Imported here because --help does not need it.
    from pacenote.model.telemetry_options import TelemetryOptions
    from pacenote.telemetry.devices import check_telemetry

    chosen = TelemetryOptions(
        default_devices=options.default_telemetry,
        devices=options.telemetry,
        params=options.telemetry_params,
    )
    check_telemetry(chosen, starts_engine=starts_engine)
    return chosen
