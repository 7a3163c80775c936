"""Reads what Rally and OpenSearch Benchmark print before a table: ids, timestamps, tracks, cars and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pacenote.importers.found_race import RaceFacts

_OSB_WORDS = re.compile(
    r"test[- ]?(?:execution|run|procedure)|provision[- ]?config|cluster[- ]?config", re.IGNORECASE
)
"""Words of OpenSearch Benchmark for which Rally has others."""

_KEYS = {
    "raceid": "race_id",
    "trialid": "race_id",
    "testrunid": "race_id",
    "testexecutionid": "race_id",
    "racetimestamp": "timestamp",
    "trialtimestamp": "timestamp",
    "testruntimestamp": "timestamp",
    "testexecutiontimestamp": "timestamp",
    "track": "track",
    "workload": "track",
    "challenge": "challenge",
    "testprocedure": "challenge",
    "car": "car",
    "clusterconfig": "car",
    "provisionconfiginstance": "car",
    "clusterconfiginstance": "car",
    "usertags": "user_tags",
}
"""Labels without blanks, in lower case → fields of `RaceFacts`."""

_LINE = re.compile(r"[\s>*-]*\[?([A-Za-z][A-Za-z ]{1,30}?)\]?\s*[:=]\s+(\S.*)")
_RACE_ID = re.compile(
    r"\[?(?:Race|Trial|Test ?Execution|Test ?Run) ?id\]?\s*(?:is|:)\s*\[?([\w.-]+)\]?", re.IGNORECASE
)
_RACING = re.compile(
    r"(?:Racing on track|Executing test with workload) \[([^\]]+)\]"
    r"(?:, (?:challenge|test_procedure) \[([^\]]+)\])?"
    r"(?: and (?:car|provision_config_instance|cluster_config) \[?'?([^\]]+?)'?\]{1,2})?"
    r"(?: with version \[([^\]]+)\])?"
)
_VERSION = re.compile(r"\b(?:Rally|esrally)\s+(?:version\s+)?v?(\d+\.\d+\.\d+(?:\.?dev\d+)?)")
_TIMESTAMPS = ("%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%SZ", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S")
_FIRST_YEAR, _LAST_YEAR = 2000, 2999
"""Other years are mistakes."""

_LAST_LINES = 400
"""Number of lines before a table that are read."""


def parse_timestamp(text: str) -> datetime | None:
    """Returns a time, which both tools give in UTC, or None if it is not one of their forms."""
    text = re.sub(r"\.\d+|\+00:?00$", "", text.strip())
    for form in _TIMESTAMPS:
        try:
            timestamp = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return timestamp if _FIRST_YEAR <= timestamp.year <= _LAST_YEAR else None
    return None


def summary_facts(lines: Sequence[str]) -> RaceFacts:
    """Returns what the lines before a summary state about its race."""
    return _facts(lines[-_LAST_LINES:])


def comparison_facts(lines: Sequence[str]) -> tuple[RaceFacts, RaceFacts]:
    """Returns what the lines before a comparison state about the baseline and the contender."""
    lines = lines[-_LAST_LINES:]
    words = [re.sub(r"[^a-z ]", "", line.lower()).strip() for line in lines]
    start = _last(words, "comparing baseline")
    middle = _last(words, "with contender")
    if start is None or middle is None or middle < start:
        tool = _tool(lines)
        return RaceFacts(tool=tool), RaceFacts(tool=tool)
    return _facts(lines[start:middle]), _facts(lines[middle:])


def _last(words: Sequence[str], wanted: str) -> int | None:
    return next((number for number in reversed(range(len(words))) if words[number] == wanted), None)


def _tool(lines: Iterable[str]) -> Any:
    text = "\n".join(lines)
    if _OSB_WORDS.search(text) or "opensearch-benchmark" in text.lower():
        return "opensearch-benchmark"
    is_rallys = re.search(r"\brace[ -]?(?:id|timestamp)|racing on track|esrally", text, re.IGNORECASE)
    return "rally" if is_rallys else "unknown"


def _facts(lines: Sequence[str]) -> RaceFacts:
    known: dict[str, Any] = {"tool": _tool(lines)}
    for line in lines:
        known |= dict(_of_line(line))
    return RaceFacts(**{name: value for name, value in known.items() if name in RaceFacts.__struct_fields__})


def _of_line(line: str) -> Iterator[tuple[str, object]]:
    if match := _RACING.search(line):
        names: Mapping[str, str | None] = {"track": match[1], "challenge": match[2], "version": match[4]}
        yield from ((name, value) for name, value in names.items() if value)
        if match[3]:
            yield "car", tuple(part.strip(" '") for part in re.split(r"[+,]", match[3]))
    elif match := _RACE_ID.search(line):
        yield "race_id", match[1]
    elif (match := _LINE.fullmatch(line)) and (name := _KEYS.get(re.sub("[^a-z]", "", match[1].lower()))):
        yield from _field(name, match[2].strip())
    if match := _VERSION.search(line):
        yield "tool_version", match[1]


def _field(name: str, text: str) -> Iterator[tuple[str, object]]:
    if name == "timestamp":
        if (timestamp := parse_timestamp(text)) is not None:
            yield name, timestamp
    elif name == "car":
        yield name, tuple(text.split("+"))
    elif name == "user_tags":
        pairs = (part.partition("=") for part in text.split(", "))
        yield name, {key.strip(): value for key, _, value in pairs if key.strip()}
    else:
        yield name, text
