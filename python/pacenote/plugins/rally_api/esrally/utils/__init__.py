"""Helpers under Rally's names."""

from pacenote.plugins.rally_api.esrally.utils import console, convert, io, net, opts, process, versions

__all__ = ["console", "convert", "io", "net", "opts", "process", "versions"]
