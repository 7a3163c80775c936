"""Documentation pages: no broken links, and nothing that depends on one machine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.model.comparison import (
    Comparison,
    EstimatedChange,
    FactDifference,
    MetricComparison,
    MetricId,
    RaceGroup,
    RaceInGroup,
)
from pacenote.model.finding import Finding
from pacenote.model.result import TaskResult
from shape.sources import ROOT, files, label, tracked
from support.records import record

PAGES = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "docs/measuring.md",
    "docs/migrating.md",
    "docs/reference/configuration.md",
    "docs/reference/race-folder.md",
)

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)

# The patterns are split so that this file does not match them.
_LOCAL = re.compile(
    "|".join((
        "/" + r"work/[a-z]",
        r"(?i:\b(?:py"
        + r"pi\.org|python"
        + r"hosted\.org|(?:index|static)\.crates\.io|npm"
        + r"js\.(?:org|com)))",
        r"(?i:https?://[\w.-]*(?:artifact" + r"ory|nexus|mirror|regis" + r"try)[\w.-]*)",
        r"(?:extra-)?index-url\s*[=:]\s*\S",
    ))
)


def links(text: str) -> Iterator[str]:
    """Yields the targets of a page's links, except those in code."""
    for inline, reference in _LINK.findall(_CODE.sub("", text)):
        yield inline or reference


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page, as GitHub derives them from its headings."""
    headings = _HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    """Yields the broken relative links of a page."""
    for link in links(page.read_text("utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{label(page)}: {link}"


def test_lines_have_at_most_120_columns():
    generated = ("compatibility", "golden")
    written = [page for page in files(".md") if not any(name in label(page) for name in generated)]
    lines = [
        f"{label(page)}:{number}"
        for page in written
        for number, line in enumerate(_FENCED.sub(_blank, page.read_text("utf-8")).splitlines(), 1)
        if len(line) > 120 and not line.startswith(("|", "!["))
    ]
    assert len(written) > 10
    assert lines == []


def _blank(code: re.Match[str]) -> str:
    """Returns as many lines as the code has, so that line numbers remain right."""
    return "\n" * code[0].count("\n")


def test_every_relative_link_resolves():
    pages = files(".md")
    assert {label(page) for page in pages} >= set(PAGES), "a page has moved"
    assert sum(len(list(links(page.read_text("utf-8")))) for page in pages) > 10, "the guard found no links"
    assert [link for page in pages for link in broken(page)] == []


def test_no_file_depends_on_one_machine():
    texts = {label(path): _text(path) for path in tracked() if path.suffix != ".lock"}
    assert len(texts) > 250
    local_paths = {name: [hit[0] for hit in _LOCAL.finditer(text)] for name, text in texts.items()}
    assert {name: hits for name, hits in local_paths.items() if hits} == {}


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


@pytest.mark.parametrize(
    "text",
    [
        "/" + "work/main",
        "https://py" + "pi.org/simple",
        "http://regis" + "try.local:80",
        "index-" + "url = x",
    ],
)
def test_local_addresses_and_paths_are_detected(text):
    assert _LOCAL.search(text)


def test_broken_links_are_detected(tmp_path, monkeypatch):
    monkeypatch.setattr("shape.sources.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text(
        "# Some: heading!\n[x](#some-heading) [y](b.md) `[z](c.md)` [w](#no) [v](https://x.example)\n"
    )
    assert list(broken(page)) == ["a.md: b.md", "a.md: #no"]


def test_pages_stay_short():
    assert (ROOT / "ARCHITECTURE.md").read_text().count("\n") <= 120
    assert len((ROOT / "CONTRIBUTING.md").read_bytes()) <= 8 << 10


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_a_placeholder(page: str) -> None:
    assert "@@" not in (ROOT / page).read_text()


def test_every_test_that_the_page_on_migrating_names_exists():
    page = (ROOT / "docs" / "migrating.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 58))
    named = {name for _, cell in rows for name in re.findall(r"`(\w+)`", cell)}
    code = "\n".join(_text(path) for path in tracked() if path.suffix in {".py", ".rs"})
    benchmarks = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert named - benchmarks - set(re.findall(r"\b(?:def|fn) (\w+)\(", code)) == set()
    unproven = [int(number) for number, cell in rows if "`" not in cell]
    assert len(unproven) <= 10, "a finding without a test must be the exception"


def test_the_reference_of_the_race_folder_has_every_key_of_the_record():
    text = (ROOT / "docs" / "reference" / "race-folder.md").read_text("utf-8")
    page = text[text.index("## race.json") :]
    documented = set(re.findall(r"`([@\w-]+)`", page))
    keys = record().to_document().keys() | set(TaskResult.__struct_fields__)
    assert len(keys) > 60
    assert sorted(keys - documented) == []


def test_the_reference_of_comparisons_has_every_key_of_the_document():
    page = (ROOT / "docs" / "reference" / "comparison.md").read_text("utf-8")
    types = (Comparison, MetricComparison, MetricId, EstimatedChange, FactDifference, RaceGroup, RaceInGroup)
    keys = {name for kind in (*types, Finding) for name in kind.__struct_fields__}
    assert sorted(keys - set(re.findall(r"`([@\w-]+)`", page))) == []
