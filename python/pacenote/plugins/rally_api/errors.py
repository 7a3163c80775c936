"""Errors that plug-ins raise and catch, with Rally's names."""

from __future__ import annotations


class RallyError(Exception):
    """Base class of all errors. `message` describes the error, `cause` is the error that caused it."""

    def __init__(self, message: str, cause: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause

    @property
    def full_message(self) -> str:
        """Returns the message with those of its causes."""
        text, nested = str(self.message), self.cause
        while nested is not None:
            text += f"\n\t{getattr(nested, 'message', nested)}"
            nested = getattr(nested, "cause", None)
        return text

    def __repr__(self) -> str:
        return str(self.message)

    def __str__(self) -> str:
        return str(self.message)


class LaunchError(RallyError):
    """The engine could not be started."""


class SystemSetupError(RallyError):
    """This machine lacks a requirement."""


class RallyAssertionError(RallyError):
    """An assertion failed."""


class RallyTaskAssertionError(RallyAssertionError):
    """A response violates an assertion of the track."""


class ConfigError(RallyError):
    """The configuration is wrong."""


class DataError(RallyError):
    """The data of a track, or the parameters of an operation, are wrong."""


class SupplyError(RallyError):
    """A download failed."""


class BuildError(RallyError):
    """A build failed."""


class InvalidSyntax(RallyError):
    """The track is not valid."""


class InvalidName(RallyError):
    """A name is unknown."""


class TrackConfigError(RallyError):
    """The parameters of a track are invalid."""


class NotFound(RallyError):
    """A resource does not exist."""


class UserInterrupted(RallyError):
    """The user stopped the race."""
