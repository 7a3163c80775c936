"""Settings of downloads: segments, connections, attempts and pauses."""

from __future__ import annotations

from msgspec import Struct


class DownloadRetryPolicy(Struct, frozen=True):
    """Attempts and pauses between them, for temporary failures."""

    first_attempts: int = 3
    """Maximum number of attempts of the first request for a file."""
    attempts: int = 6
    """Maximum number of consecutive attempts of a segment without progress."""
    initial_pause_s: float = 0.5
    """Seconds to wait before the second attempt; each further pause is twice as long."""
    max_pause_s: float = 10.0
    """Upper limit of a pause in seconds, even if the server requests a longer one."""

    def pause_s(self, failures: int, retry_after_s: float = 0.0) -> float:
        """Returns the seconds to wait after a number of consecutive failures; `retry_after_s` is the value of
        Retry-After.
        """
        return min(max(self.initial_pause_s * 2.0 ** (failures - 1), retry_after_s), self.max_pause_s)


class DownloadOptions(Struct, frozen=True):
    """Settings of the downloader."""

    segment_bytes: int = 64 << 20
    """Size of the segments that a large file is split into, in bytes."""
    connections: int = 4
    """Number of segments of one file that are requested at the same time."""
    parallel_files: int = 8
    """Number of files of one batch that are downloaded at the same time."""
    retry: DownloadRetryPolicy = DownloadRetryPolicy()
    """Attempts of failed requests and the pauses between them."""
