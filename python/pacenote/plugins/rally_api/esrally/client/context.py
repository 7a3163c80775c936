"""The request context under Rally's names."""

from pacenote.plugins.rally_api.request_context import RequestContextHolder, RequestContextManager

__all__ = ["RequestContextHolder", "RequestContextManager"]
