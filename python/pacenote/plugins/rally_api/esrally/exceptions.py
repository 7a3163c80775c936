"""Errors under Rally's names."""

from pacenote.plugins.rally_api.errors import (
    BuildError,
    ConfigError,
    DataError,
    InvalidName,
    InvalidSyntax,
    LaunchError,
    NotFound,
    RallyAssertionError,
    RallyError,
    RallyTaskAssertionError,
    SupplyError,
    SystemSetupError,
    TrackConfigError,
    UserInterrupted,
)

__all__ = [
    "BuildError",
    "ConfigError",
    "DataError",
    "InvalidName",
    "InvalidSyntax",
    "LaunchError",
    "NotFound",
    "RallyAssertionError",
    "RallyError",
    "RallyTaskAssertionError",
    "SupplyError",
    "SystemSetupError",
    "TrackConfigError",
    "UserInterrupted",
]
