"""The options of an installation, shared by `pacenote install` and `pacenote start`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.options import values
from pacenote.cli.options.engine import add_engine_options, add_maven_mirror, engine_options, is_given
from pacenote.cli.options.sources import SELECTING_SOURCES, add_source_build_options, engine_from_sources
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.model.engine import DEFAULT_NODE_NAME, FIRST_HTTP_PORT, TRANSPORT_OFFSET
from pacenote.store.home import default_home
from pacenote.track.params import parse_list

if TYPE_CHECKING:
    from pacenote.race.lifecycle import NewInstallation

_LOOPBACK = ("127.0.0.1", "localhost", "_local_")


def add_installation_options(parser: Parser) -> None:
    """Adds the options of the engine, and Rally's options of `install`."""
    add_engine_options(parser)
    add_source_build_options(parser)
    parser.hide("--preserve-install")
    parser.add_argument(
        "--node-name",
        default=DEFAULT_NODE_NAME,
        help=f"name of the first node (default: {DEFAULT_NODE_NAME})",
    )
    parser.add_argument(
        "--http-port",
        type=values.port,
        help=f"HTTP port of the first node; the transport port is {TRANSPORT_OFFSET} higher (default: the "
        f"first free one from {FIRST_HTTP_PORT})",
    )
    parser.add_argument(
        "--network-host", default=_LOOPBACK[0], help="address to listen on: only 127.0.0.1 (default)"
    )
    parser.add_argument("--master-nodes", metavar="NAME,…", default="", help="names of the cluster's nodes")
    parser.add_argument("--seed-hosts", metavar="HOST,…", default="", help="addresses of the cluster's nodes")
    add_maven_mirror(parser)
    parser.add_flag("--quiet", help="show no progress", harmless=True)
    parser.add_flag("--offline", help="download nothing", harmless=True)


def new_installation(options: argparse.Namespace) -> NewInstallation:
    """Returns the installation that the options describe. Raises UsageError."""
    from pacenote.race.lifecycle import NewInstallation

    if options.network_host not in _LOOPBACK:
        raise UsageError(
            f"--network-host cannot be {options.network_host}: engines that Pacenote starts listen only on "
            f"{_LOOPBACK[0]}",
            hint="start it yourself to open it to other hosts, and use --pipeline=benchmark-only",
        )
    _check_alone(options)
    builds = any(is_given(options, name) for name in SELECTING_SOURCES)
    return NewInstallation(
        home=default_home(),
        engine=engine_from_sources(options) if builds else engine_options(options),
        installation_id=options.installation_id or "",
        node_name=options.node_name,
        http_port=options.http_port,
        offline=options.offline,
    )


def _check_alone(options: argparse.Namespace) -> None:
    """Raises UsageError if the node is to form a cluster with others."""
    names = [str(name) for name in parse_list(options.master_nodes, "--master-nodes")]
    hosts = [str(host) for host in parse_list(options.seed_hosts, "--seed-hosts")]
    if len(hosts) > 1 or any(name != options.node_name for name in names):
        raise UsageError(
            "--master-nodes and --seed-hosts name other nodes, but an installation is a cluster of its own",
            hint="omit both; --nodes starts several nodes of one cluster",
        )
