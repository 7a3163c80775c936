"""The metrics store of a command: `[reporting]` of `rally.ini` or `pacenote.toml`."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from pacenote.cli.parser import Parser

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.cli.console import Console
    from pacenote.metrics_store.client import StoreClient
    from pacenote.metrics_store.settings import StoreSettings


def add_store_option(parser: Parser) -> None:
    """Adds the option not to use a configured metrics store."""
    parser.add_flag(
        "--metrics-store",
        help="use the metrics store that [reporting] configures (default: yes)",
        default=True,
        harmless=True,
    )


def configured_store(options: argparse.Namespace) -> StoreSettings | None:
    """Returns the settings of the metrics store, or None without one. Raises UsageError for invalid ones."""
    if not options.metrics_store or not options.reporting:
        return None
    from pacenote.metrics_store.settings import store_settings

    return store_settings(options.reporting, os.environ)


def store_client(options: argparse.Namespace) -> StoreClient | None:
    """Returns a connection to the metrics store, or None without one. Raises UsageError."""
    settings = configured_store(options)
    if settings is None:
        return None
    from pacenote.metrics_store.client import StoreClient

    return StoreClient(settings)


def hide_store_secrets(options: argparse.Namespace, console: Console) -> None:
    """Makes the console hide the credentials of the metrics store."""
    from pacenote.metrics_store.settings import store_secrets

    console.hide(store_secrets(options.reporting, os.environ))
