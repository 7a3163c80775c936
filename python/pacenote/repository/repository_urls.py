"""Which URLs of repositories are given to git."""

from __future__ import annotations

from urllib.parse import urlsplit

from pacenote.errors import UsageError


def refuse_credentials(url: str, content: str) -> None:
    """Raises UsageError for a URL with credentials, and for a malformed one: git would store them in the
    clone and show them to other processes. `content` is what the repository contains, such as `the sources`.
    """
    try:
        parts = urlsplit(url) if "://" in url else None
        password = parts.password if parts is not None else None
    except ValueError:
        # The message of the error may repeat a part of the URL.
        raise UsageError(f"the URL of {content} is malformed", hint="check its host") from None
    # A user name may be a token; that of SSH selects the account.
    if parts is not None and not parts.scheme.endswith("ssh") and "@" in parts.netloc:
        raise UsageError(
            f"the URL of {content} cannot contain a user name or a password",
            hint="remove them and use a git credential helper: `git help credentials`",
        )
    if parts is not None and parts.query:
        raise UsageError(
            f"the URL of {content} cannot contain a query, which may be a secret",
            hint="remove it and use a git credential helper: `git help credentials`",
        )
    if password is not None:
        raise UsageError(
            f"the URL of {content} cannot contain a password",
            hint="configure it in git: `git help credentials`",
        )
