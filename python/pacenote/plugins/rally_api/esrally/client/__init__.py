"""The request context of Rally's client, for plug-ins that take their own measurements."""

from pacenote.plugins.rally_api.esrally.client import context
from pacenote.plugins.rally_api.esrally.client.context import RequestContextHolder, RequestContextManager

__all__ = ["RequestContextHolder", "RequestContextManager", "context"]
