"""The last screen of an imported race."""

from __future__ import annotations

from pacenote.model.headline import headline
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.report.screen.build import RaceLocation, build_screen
from pacenote.report.screen.imported import imported_answers, imported_tables
from support.records import record

RATES = (
    ("small", 1_000.0, "docs/s"),
    ("large", 52_000.0, "docs/s"),
    ("term", 20.0, "ops/s"),
    ("scroll", 12.5, "pages/s"),
    ("restore", 2.1e8, "byte/s"),
)


def imported_race(*names: str, errors: tuple[str, ...] = ()) -> tuple[RaceRecord, ImportedResults]:
    """Returns a race of Rally with these tasks, of which some have an error rate of 0."""
    values = [
        ImportedValue("Mean Throughput", name, rate, unit) for name, rate, unit in RATES if name in names
    ]
    values += [ImportedValue("error rate", name, 0.0, "%") for name in errors]
    imported = ImportedResults("rally", "summary", "summary.md", "0" * 64, values=tuple(values))
    return record(tasks=(), imported=imported, verdict=Verdict("valid")), imported


def rates(*names: str) -> list[tuple[str, list[str]]]:
    """Returns the head of the column of the rates of each table, and its values."""
    tables = imported_tables(*imported_race(*names))
    return [(table.heads[0], [line.cells[0].text for line in table.lines]) for table in tables]


def test_a_rate_stands_beside_its_own_unit():
    assert rates("term") == [("ops/s", ["20"])]
    assert rates("scroll") == [("pages/s", ["12.5"])]
    assert rates("small", "large", "term", "scroll", "restore") == [
        ("docs/s", ["1,000", "52,000"]),
        ("rate", ["20 ops/s", "12.5 pages/s", "210,000,000 byte/s"]),
    ]


def test_the_screen_the_list_and_the_summary_have_the_same_rate_of_indexing():
    race, imported = imported_race("small", "large")
    (answer,) = imported_answers(imported)
    assert (answer.label, answer.text) == ("Indexing", "52,000 docs/s (large)")
    assert headline(race) == "52,000 docs/s"
    assert "52,000 docs/s" in build_screen(race, RaceLocation("/x", "6ebc", "complete")).summary
    (alone,) = imported_answers(imported_race("small")[1])
    assert alone.text == "1,000 docs/s"


def test_errors_of_which_the_file_says_nothing_are_not_none():
    def errors(*known: str) -> list[str]:
        answers = imported_answers(imported_race("term", "scroll", "restore", errors=known)[1])
        return [answer.text for answer in answers if answer.label == "Errors"]

    assert errors("term", "scroll", "restore") == ["0"]
    assert errors("term") == ["0 (not known of 2 tasks)"]
    assert errors() == []
