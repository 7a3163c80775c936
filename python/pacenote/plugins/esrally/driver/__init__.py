"""Runners under Rally's names."""

from pacenote.plugins.esrally.driver import runner

__all__ = ["runner"]
