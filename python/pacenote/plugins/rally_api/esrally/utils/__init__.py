"""Helpers under Rally's names."""

from pacenote.plugins.rally_api.esrally.utils import io, net, opts

__all__ = ["io", "net", "opts"]
