"""The thresholds of a race as JUnit XML: a test case for each threshold and task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from pacenote.model.printable import whole_line
from pacenote.model.threshold import ThresholdResult


def render_thresholds_junit(race_id: str, results: Sequence[ThresholdResult]) -> str:
    """Returns one test suite, in which each threshold that a task does not keep fails."""
    failures = sum(bool(each.problem) for each in results)
    head = f'<testsuite name={quoteattr(f"pacenote race {race_id}")} tests="{len(results)}" '
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'{head}failures="{failures}" errors="0" skipped="0">',
        *(line for each in results for line in _case(each)),
        "</testsuite>",
        "",
    ])


def _case(result: ThresholdResult) -> Iterator[str]:
    task, name = whole_line(result.task) or "race", whole_line(result.threshold.text)
    yield f"  <testcase classname={quoteattr(task)} name={quoteattr(name)}>"
    if result.problem:
        text = ": ".join(part for part in (result.value, result.problem) if part)
        yield f"    <failure message={quoteattr(whole_line(text))}/>"
    else:
        yield f"    <system-out>{escape(whole_line(result.value))}</system-out>"
    yield "  </testcase>"
