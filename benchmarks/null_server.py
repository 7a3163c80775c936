"""The driver against a server that does nothing: not measured yet, and that is said."""

from __future__ import annotations

import shutil

from outcome import Options, Outcome


def measure(_options: Options) -> Outcome:
    """Says why there is no figure."""
    if shutil.which("nginx") is None:
        return Outcome(skipped="there is no nginx to be the null server")
    return Outcome(skipped="it comes together with its peers, wrk and esrally")
