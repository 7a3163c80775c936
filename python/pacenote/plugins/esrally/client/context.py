"""The request context under Rally's names."""

from pacenote.plugins.context import RequestContextHolder, RequestContextManager

__all__ = ["RequestContextHolder", "RequestContextManager"]
