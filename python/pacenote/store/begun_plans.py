"""The experiments and searches that this home has begun: their ids with the hashes of their plans, in
`begun.json` in the home folder.

The folder of an experiment may have been copied from someone else, and nothing in it proves who made it.
`resume` runs what its plan names, so that it is resumed only if it is in this file, which is outside of the
folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pacenote.store.own_files import own_problem, read_own, update_own

_NAME = "begun.json"
_MEMBER = "begun"
_MAX_PLANS = 10_000
"""Number of plans that are known; the oldest ones are forgotten."""


class BegunPlans:
    """The plans of a home that it has begun."""

    def __init__(self, home: Path) -> None:
        self._path = home / _NAME

    def digests(self) -> Mapping[str, str]:
        """Returns the hash of each plan by its id; none if the file cannot be read, or if others may have
        written it.
        """
        digests = read_own(self._path, _MEMBER)
        if not isinstance(digests, dict):
            return {}
        return {plan_id: digest for plan_id, digest in digests.items() if isinstance(digest, str)}

    def problem(self) -> str:
        """Returns why the file is not used, so that no plan is known; empty if it is."""
        return own_problem(self._path, _MEMBER)

    def add(self, plan_id: str, plan: bytes) -> None:
        """Adds a plan with the content of its file, in place of an earlier one with its id. Raises
        StoreError.
        """
        digest = plan_digest(plan)
        if self.digests().get(plan_id) != digest:
            update_own(self._path, _MEMBER, lambda: self._with(plan_id, digest))

    def _with(self, plan_id: str, digest: str) -> dict[str, str]:
        # Of the same id, the new one is the last.
        others = {known: value for known, value in self.digests().items() if known != plan_id}
        return dict([*others.items(), (plan_id, digest)][-_MAX_PLANS:])


def plan_digest(plan: bytes) -> str:
    """Returns the hash of the content of the file of a plan, which has the hashes of what belongs to it."""
    return hashlib.sha256(plan).hexdigest()
