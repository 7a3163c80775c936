"""Comparisons as JUnit XML: a test suite for each, with a test case for each primary metric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from pacenote.model.comparison import Comparison, MetricComparison
from pacenote.model.printable import whole_line
from pacenote.report.comparison_rows import change_text, interval_text
from pacenote.report.comparison_texts import answer_sentence

_HEADER = '<?xml version="1.0" encoding="UTF-8"?>'
_NO_RESULT = ("no verdict", "unclear")


def render_comparison_junit(
    comparison: Comparison, failed: Iterable[str], warnings: Sequence[str] = ()
) -> str:
    """Returns one test suite as JUnit XML. The metrics whose labels are in `failed` fail, void ones are
    errors, and those without a result are skipped. `warnings` are what gates could not have seen.
    """
    return "\n".join([_HEADER, *suite("pacenote compare", comparison, failed, warnings), ""])


def render_suites(suites: Iterable[Sequence[str]], name: str) -> str:
    """Returns test suites as one document of this name."""
    lines = (f"  {line}" for each in suites for line in each)
    return "\n".join([_HEADER, f"<testsuites name={quoteattr(name)}>", *lines, "</testsuites>", ""])


def error_suite(name: str, problem: str) -> list[str]:
    """Returns the lines of a test suite for what cannot be compared."""
    return _suite(name, (1, 0, 1, 0), _error_case(problem))


def suite(
    name: str, comparison: Comparison, failed: Iterable[str], warnings: Sequence[str] = ()
) -> list[str]:
    """Returns the lines of the test suite of a comparison."""
    fails = dict.fromkeys(failed)
    chosen = [each for each in comparison.metrics if each.decides or each.metric.label in fails]
    if not chosen:
        return error_suite(name, answer_sentence(comparison))
    results = [_result(comparison, each, fails) for each in chosen]
    cases = [line for each, result in zip(chosen, results, strict=True) for line in _case(each, result)]
    compared = {each.metric.label for each in chosen}
    for label in dict.fromkeys((*comparison.lacking, *(label for label in fails if label not in compared))):
        results.append("failure" if label in fails else "skipped")
        cases += _lacking_case(label, results[-1])
    counts = (len(results), *(results.count(result) for result in ("failure", "error", "skipped")))
    if warnings:
        cases.append(f"  <system-err>{escape(whole_line('; '.join(warnings)))}</system-err>")
    return _suite(name, counts, cases)


def _lacking_case(label: str, result: str) -> list[str]:
    """Returns the lines of a test case for a metric that not all races have."""
    key, _, task = label.partition(":")
    return [
        f"  <testcase classname={quoteattr(whole_line(task))} name={quoteattr(whole_line(key))}>",
        f"    <{result} message={quoteattr('not all races have it, so that it may be worse')}/>",
        "  </testcase>",
    ]


def _error_case(problem: str) -> list[str]:
    return [
        '  <testcase classname="race" name="comparison">',
        f"    <error message={quoteattr(whole_line(problem))}/>",
        "  </testcase>",
    ]


def _suite(name: str, counts: Sequence[int], cases: Iterable[str]) -> list[str]:
    names = ("tests", "failures", "errors", "skipped")
    attributes = " ".join(f'{each}="{count}"' for each, count in zip(names, counts, strict=True))
    return [f"<testsuite name={quoteattr(whole_line(name))} {attributes}>", *cases, "</testsuite>"]


def _result(comparison: Comparison, metric: MetricComparison, failed: Collection[str]) -> str:
    """Returns the element of a result. That no operation failed is one, also if it decides nothing."""
    if comparison.is_void(metric):
        return "error"
    if metric.metric.label in failed:
        return "failure"
    return "skipped" if metric.word in _NO_RESULT and not metric.is_zero else "system-out"


def _case(metric: MetricComparison, result: str) -> Iterator[str]:
    interval = interval_text(metric.change)
    change = " ".join(
        part for part in (change_text(metric.change), interval and f"(interval {interval})") if part
    )
    parts = (metric.word, change, metric.reason, metric.order_problem)
    message = quoteattr(whole_line(": ".join(filter(None, parts))))
    yield (
        f"  <testcase classname={quoteattr(whole_line(metric.metric.task) or 'race')} "
        f"name={quoteattr(whole_line(metric.metric.name))}>"
    )
    if result == "system-out":
        yield f"    <system-out>{message[1:-1]}</system-out>"
    else:
        yield f"    <{result} message={message}/>"
    yield "  </testcase>"
