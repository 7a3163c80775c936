"""The request context of Rally's client, for plug-ins that measure by hand."""

from pacenote.plugins.esrally.client import context
from pacenote.plugins.esrally.client.context import RequestContextHolder, RequestContextManager

__all__ = ["RequestContextHolder", "RequestContextManager", "context"]
