"""The tags of a race as text, for lists, reports and filters; the record has the given values."""

from __future__ import annotations

import json
from collections.abc import Mapping


def tag_texts(tags: Mapping[str, object]) -> dict[str, str]:
    """Returns each tag as text: `nightly`, `4`, `true`, `["a", "b"]`."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in tags.items()}
