"""Requests to a metrics store: repeated while it is overloaded, with errors that name the store."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError, StoreError, UsageError
from pacenote.metrics_store.settings import StoreSettings
from pacenote.model.failure_group import OVERLOAD
from pacenote.model.foreign_messages import message_line, reason_text
from pacenote.net.hosts import HttpHost
from pacenote.net.http_pool import ClientConfig
from pacenote.net.reply import FORM_ERRORS, ReplyLimitError
from pacenote.net.rest import Params, RestClient, RestResponse, UntrustedCertificate

RETRIED = frozenset(OVERLOAD)
"""Statuses of a store that is overloaded or not ready, as in Rally."""

_CONNECT_TIMEOUT_S = 10.0
_TIMEOUT_S = 60.0
"""Seconds within which the store must answer a request, as in Rally."""

FREE_S = 600.0
"""Seconds that a client waits for the store in all requests together, besides those for documents."""

LEAST_RATE = 100
"""Documents per second that the store has to write, on average, when these seconds have passed. A store that
answers each request just before its timeout would delay the end of a race by hours.
"""

_REFUSED = (401, 403)


class StoreRetries(Struct, frozen=True):
    """How often and how soon requests are repeated."""

    attempts: int = 4
    """Number of attempts, as in Rally."""

    first_delay_s: float = 1.0
    """Seconds before the second attempt; each further delay is twice as long."""

    sleep: Callable[[float], None] = time.sleep
    """Waits for some seconds."""

    def wait(self, attempt: int) -> bool:
        """Waits after an attempt, counted from 1. Returns False if there is no further one."""
        if attempt >= self.attempts:
            return False
        # Several clients that were refused at the same time do not come back at the same time.
        self.sleep(self.first_delay_s * 2 ** (attempt - 1) * random.uniform(1.0, 1.25))
        return True


class StoreUnavailable(StoreError):
    """A metrics store does not answer, or refuses what was requested."""


class StoreClient:
    """Sends requests to a metrics store."""

    def __init__(
        self, settings: StoreSettings, retries: StoreRetries = StoreRetries(), timeout_s: float = _TIMEOUT_S
    ) -> None:
        """`timeout_s` limits the time in seconds in which a whole response must arrive."""
        self._waited_s = 0.0
        self._allowed_s = FREE_S
        self.settings = settings
        self.retries = retries
        headers = (("authorization", settings.authorization),) if settings.authorization else ()
        host = HttpHost("https" if settings.secure else "http", settings.host, settings.port)
        config = ClientConfig(headers, settings.tls, _CONNECT_TIMEOUT_S)
        self._client = RestClient((host,), timeout_s, config, timeout_s)

    def request(self, method: str, path: str, body: object = None, params: Params | None = None) -> Any:
        """Returns the parsed response. Raises StoreUnavailable if its status is not 2xx."""
        response = self.exchange(method, path, body, params)
        if not response.ok:
            raise self.refusal(f"{method} {path}", response)
        return response.body

    def exchange(
        self, method: str, path: str, body: object = None, params: Params | None = None
    ) -> RestResponse:
        """Returns the response, whatever its status, unless the credentials are refused.

        Repeats the request while the store is overloaded or cannot be reached. Raises StoreUnavailable, also
        if the store has taken too long for all requests together.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._timed(method, path, body, params)
            except (UntrustedCertificate, ReplyLimitError, UsageError) as error:
                raise self._unreachable(error) from None
            except EngineError as error:
                if not self.retries.wait(attempt):
                    raise self._unreachable(error) from None
                continue
            if response.status in _REFUSED:
                raise self.refusal(f"{method} {path}", response)
            if response.status not in RETRIED or not self.retries.wait(attempt):
                return response

    def _timed(self, method: str, path: str, body: object, params: Params | None) -> RestResponse:
        """Sends a request once, and counts the time. Raises what the client raises, and StoreUnavailable if
        the time for the store has passed.
        """
        if self._waited_s > self._allowed_s:
            raise StoreUnavailable(
                f"the metrics store at {self.settings.url} is too slow: its replies have taken "
                f"{self._waited_s:,.0f} s",
                hint="check its load",
            )
        began = time.monotonic()
        try:
            return self._client.exchange(method, path, body, params)
        finally:
            self._waited_s += time.monotonic() - began

    def allow_time(self, documents: int) -> None:
        """Gives the store time for documents that it has written."""
        self._allowed_s += documents / LEAST_RATE

    @contextmanager
    def expected_form(self, request: str) -> Generator[None, None, None]:
        """Raises StoreUnavailable if the block finds the reply to a request in another form than expected."""
        try:
            yield
        except FORM_ERRORS as error:
            raise StoreUnavailable(
                f"the reply of the metrics store at {self.settings.url} to {request} has an unexpected form",
                hint="check datastore.host and datastore.port in [reporting]",
            ) from error

    def refusal(self, request: str, response: RestResponse) -> StoreUnavailable:
        """Returns the error for a response whose status is not 2xx."""
        if response.status in _REFUSED:
            key = f"datastore.{self.settings.credentials}" if self.settings.credentials else ""
            what = f"the credentials of [reporting] {key}" if key else "requests without credentials"
            return StoreUnavailable(
                f"the metrics store at {self.settings.url} refuses {what} (status {response.status} for "
                f"{request})",
                hint="check user, password or API key, and their privileges",
            )
        return StoreUnavailable(
            f"the metrics store at {self.settings.url} answered {request} with status {response.status}: "
            f"{self.reason(response.body)}"
        )

    def reason(self, body: object) -> str:
        """Returns the reason in an error of the store, in one line and without the credentials."""
        return self.public(reason_in(body))

    def public(self, reason: str) -> str:
        """Returns a reason that the store gives, in one line and without the credentials."""
        secret = self.settings.authorization or ""
        return message_line(reason, [secret, secret.partition(" ")[2]] if secret else [])

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _unreachable(self, error: EngineError | UsageError) -> StoreUnavailable:
        if isinstance(error, UsageError):  # The file with the authorities cannot be read.
            return StoreUnavailable(
                f"[reporting] datastore.ssl.certificate_authorities: {error.message.rpartition(': ')[2]}: "
                f"{self.settings.tls.ca_file}"
            )
        reason = error.message.partition(" at ")[2] or error.message
        hint = "check that it is running, and datastore.host and datastore.port in [reporting]"
        if isinstance(error, UntrustedCertificate):
            hint = "name the file with its authority in [reporting] datastore.ssl.certificate_authorities"
        elif "speaks TLS" in reason:
            hint = "set [reporting] datastore.secure=true"
        return StoreUnavailable(f"the metrics store cannot be reached at {reason}", hint=hint)


def reason_in(body: object) -> str:
    """Returns the reason in an error of a store, as the store gives it."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        causes = error.get("root_cause")
        first = causes[0] if isinstance(causes, list) and causes else None
        reasons = [one.get("reason") for one in (error, first) if isinstance(one, dict)]
        caused = error.get("caused_by")
        reasons += [caused.get("reason")] if isinstance(caused, dict) else []
        error = ": ".join(dict.fromkeys(one for one in reasons if isinstance(one, str) and one)) or error.get(
            "type"
        )
    return reason_text(error)
