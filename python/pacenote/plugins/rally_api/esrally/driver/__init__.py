"""Runners under Rally's names."""

from pacenote.plugins.rally_api.esrally.driver import runner

__all__ = ["runner"]
