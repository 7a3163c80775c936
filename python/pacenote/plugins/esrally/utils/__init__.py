"""Helpers under Rally's names."""

from pacenote.plugins.esrally.utils import io, net, opts

__all__ = ["io", "net", "opts"]
