"""Rally's parameter sources of operations that send a request, or none: searches, merges, pauses."""

from __future__ import annotations

from typing import Any

from pacenote.plugins.rally_api.bulk_source import ParamSource
from pacenote.plugins.rally_api.errors import InvalidSyntax
from pacenote.plugins.rally_api.track import Track

Params = dict[str, Any]


def get_target(track: Track, params: Params) -> Any:
    """Returns the index or data stream of an operation, by default the only one of the track; otherwise
    None.
    """
    return params.get("index") or params.get("data-stream", _sole_target(track))


def _sole_target(track: Track) -> str | None:
    for targets in (track.index_names(), track.data_stream_names()):
        if len(targets) == 1:
            return targets[0]
    return None


class DelegatingParamSource(ParamSource):
    """Calls a function for each operation."""

    def __init__(self, track: Track, params: Params, delegate: Any, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.delegate = delegate

    def params(self) -> Any:
        """Returns the parameters that the function returns."""
        return self.delegate(self.track, self._params, **self.kwargs)


class SearchParamSource(ParamSource):
    """The parameters of a search."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        target = get_target(track, params)
        if not target:
            raise InvalidSyntax("'index' or 'data-stream' is mandatory and is missing")
        if "type" in params:
            raise InvalidSyntax("'type' is not supported, because engines no longer have document types")
        self.query_params: Params = {
            "index": target,
            "cache": params.get("cache"),
            "detailed-results": params.get("detailed-results", False),
            "request-params": params.get("request-params", {}),
            "response-compression-enabled": params.get("response-compression-enabled", True),
            "body": params.get("body"),
        }
        for key in ("pages", "results-per-page", "with-point-in-time-from", "assertions"):
            if params.get(key):
                self.query_params[key] = params[key]
        self.query_params.update(self._client_params())

    def params(self) -> Params:
        """Returns the same search each time, in a new dictionary."""
        return dict(self.query_params)


class OpenPointInTimeParamSource(ParamSource):
    """The index of a point in time, and how long the engine keeps it."""

    def params(self) -> Params:
        """Returns the same parameters each time, in a new dictionary."""
        target, keep_alive = get_target(self.track, self._params), self._params.get("keep-alive")
        return {"index": target, "keep-alive": keep_alive, **self._client_params()}


class ClosePointInTimeParamSource(ParamSource):
    """The operation that has opened a point in time."""

    def params(self) -> Params:
        """Returns the same parameters each time, in a new dictionary."""
        key = "with-point-in-time-from"
        return {key: self._params.get(key), **self._client_params()}


class ForceMergeParamSource(ParamSource):
    """The indices and data streams that are merged: by default all of the track, or of the cluster."""

    def params(self) -> Params:
        """Returns the same parameters each time, in a new dictionary."""
        names = [*self.track.index_names(), *self.track.data_stream_names()]
        default = ",".join(names) or "_all"
        return {
            "index": self._params.get("index") or self._params.get("data-stream", default),
            "max-num-segments": self._params.get("max-num-segments"),
            "mode": self._params.get("mode", "blocking"),
            "poll-period": self._params.get("poll-period", 10),
            **self._client_params(),
        }


class DownsampleParamSource(ParamSource):
    """The index that is downsampled, by default the only one of the track, and its new name."""

    def params(self) -> Params:
        """Returns the same parameters each time, in a new dictionary."""
        interval = self._params.get("fixed-interval", "1h")
        source = get_target(self.track, {**self._params, "index": self._params.get("source-index")})
        params = {
            "fixed-interval": interval,
            "source-index": source,
            "target-index": self._params.get("target-index", f"{source}-{interval}"),
        }
        if method := self._params.get("sampling-method"):
            params["sampling-method"] = method
        return {**params, **self._client_params()}


class SleepParamSource(ParamSource):
    """The duration of a pause in seconds."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        duration = params.get("duration")
        if isinstance(duration, bool) or not isinstance(duration, int | float):
            raise InvalidSyntax("parameter 'duration' of the sleep operation is not a number")
        if duration < 0:
            raise InvalidSyntax(
                f"parameter 'duration' of the sleep operation is {duration}, which is negative"
            )

    def params(self) -> Params:
        """Returns a copy of the operation's parameters."""
        return dict(self._params)
