"""Runners and schedulers under Rally's names."""

from pacenote.plugins.rally_api.esrally.driver import runner, scheduler

__all__ = ["runner", "scheduler"]
