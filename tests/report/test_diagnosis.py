"""A diagnosis as sections, for a terminal and as Markdown."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.diagnosis import (
    Diagnosis,
    EvidenceItem,
    Expectation,
    MissingFigure,
    RuleAdvice,
    RuleAnswer,
    TaskTime,
    TimeShare,
)
from pacenote.report.diagnosis import diagnosis_sections, headline_findings
from pacenote.report.render.diagnosis import diagnosis_lines, diagnosis_markdown
from pacenote.report.screen.text import plain_text

HEAP = RuleAnswer(
    id="H1",
    title="the heap is too small",
    state="fired",
    text="stopped for 16.4 %",
    tasks=("load",),
    severe=True,
    evidence=(EvidenceItem("gc.stop_share", "16.4 %", "GC log", 0.164),),
    bound=0.196,
    assumes="no stop is left",
    excludes="a larger buffer",
    metric="throughput:load",
    confidence=0.5,
    advice=(RuleAdvice("double the heap to 512m", {"car-params": {"heap_size": "512m"}}),),
    expected=(Expectation("gc.stop_share", "falls", "16.4 %"),),
    source="S1",
    doubts=("V6 fired: other work",),
)
REFRESH = RuleAnswer(
    id="I4",
    title="refreshes",
    state="fired",
    text="often <b>refreshed",
    metric="throughput:load",
    missing=(MissingFigure("node.x", "not there"),),
    withheld=("H3 fired: no memory",),
    source="ES",
)
OUT = RuleAnswer(id="D1", title="disk", state="ruled out", text="disk.queue is 1, not above 2", source="S1")
NOT = RuleAnswer(
    id="A1",
    title="allocation",
    state="not applicable",
    text="x",
    missing=(MissingFigure("a.b", "no recording"), MissingFigure("a.c", "no recording")),
    source="S3",
)
ERRORS = RuleAnswer(id="V1", title="errors", state="fired", text="80 % failed", source="S5")
TIME = TaskTime(
    "load",
    "",
    (TimeShare("indexing", 0.6, "x"), TimeShare("driver", 0.1, "y")),
    0.3,
    (TimeShare("a thread waited for a core", 0.4, "z"),),
    (MissingFigure("gc.pause_cpu_s", "no GC log"),),
)
DIAGNOSIS = Diagnosis(
    races=("r1",),
    validity=(ERRORS,),
    findings=(HEAP, REFRESH),
    ruled_out=(OUT,),
    not_applicable=(NOT,),
    time=(TIME,),
)


def test_the_screen_has_findings_time_and_the_other_rules() -> None:
    text = plain_text(diagnosis_lines("Diagnosis of r1", diagnosis_sections(DIAGNOSIS), 130))
    for expected in (
        "  - V1: errors\n      found        80 % failed\n",
        "  ! H1: the heap is too small\n      found        stopped for 16.4 %\n",
        "at most +19.6 % of throughput:load, if no stop is left; not included: a larger buffer; ",
        "confidence 50.0 %\n",
        "      try          double the heap to 512m\n",
        "      expect       gc.stop_share falls (now 16.4 %)\n",
        "      evidence     gc.stop_share 16.4 % (GC log)\n",
        "      doubt        V6 fired: other work\n",
        "the largest improvement is not known: node.x: not there\n",
        "      no advice    H3 fired: no memory\n",
        "      shares       60.0 % indexing, 10.0 % driver\n      unexplained  30.0 %\n",
        "      besides      40.0 % a thread waited for a core\n",
        "      not known    gc.pause_cpu_s: no GC log\n",
        " Ruled out: 1 rule\n  - D1: disk: disk.queue is 1, not above 2\n",
        " Not applicable: 1 rule\n  - A1: allocation: a.b, a.c: no recording\n",
    ):
        assert expected in text, expected
    assert max(map(len, text.splitlines())) <= 130


def test_markdown_has_also_why_rules_did_not_fire() -> None:
    text = diagnosis_markdown("Diagnosis of r1", diagnosis_sections(DIAGNOSIS))
    heading = "# Diagnosis of r1\n\n## Validity (the verdict of the race is valid)\n\n"
    assert text.startswith(f"{heading}### V1: errors\n\n- found: 80 % failed\n")
    assert "### H1: the heap is too small (severe)\n" in text
    assert "## Ruled out: 1 rule\n\n- D1: disk: disk.queue is 1, not above 2\n" in text
    assert "\n- A1: allocation: a.b, a.c: no recording\n" in text
    assert "often \\<b>refreshed" in text


def test_the_verdict_with_its_reasons_and_damaged_files_come_first() -> None:
    doubtful = replace(
        DIAGNOSIS, verdict="suspect", reasons=("load: it was \x1b[31mbusy",), unread=("gc.log: it is cut",)
    )
    text = diagnosis_markdown("Diagnosis of r1", diagnosis_sections(doubtful))
    damaged, validity = text.split("\n## ")[1:3]
    assert damaged.startswith("Damaged files, without whose figures rules are not applicable\n\n")
    assert "gc.log: it is cut" in damaged
    assert validity.startswith("Validity\n\n### the race is suspect\n\n- reason: load: it was ")
    assert "\x1b" not in text


def test_a_diagnosis_without_findings_says_so() -> None:
    text = diagnosis_markdown("Diagnosis of r1", diagnosis_sections(Diagnosis(races=("r1",))))
    assert text == (
        "# Diagnosis of r1\n\n## Validity: the race is valid, and no validity rule fired\n\n"
        "## Findings: no rule fired\n\n"
        "## Where the time of all cores goes: no figures of the cores were recorded\n"
    )


def test_findings_in_doubt_are_not_headlines_but_counted() -> None:
    doubted = replace(HEAP, doubtful=True)
    assert headline_findings(replace(DIAGNOSIS, findings=(REFRESH, doubted)))[0].startswith("I4: ")
    assert len(headline_findings(replace(DIAGNOSIS, findings=(REFRESH, doubted)))) == 1
    assert headline_findings(replace(DIAGNOSIS, findings=(doubted,))) == (
        "1 finding is in doubt: V6 fired: other work",
    )


def test_the_most_important_findings_have_one_line_each() -> None:
    assert headline_findings(DIAGNOSIS) == (
        "H1: the heap is too small: stopped for 16.4 % "
        "(at most +19.6 % of throughput:load, if no stop is left)",
        "I4: refreshes: often <b>refreshed",
    )
