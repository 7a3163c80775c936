"""The tables of simulations in docs/: their rows are those that are stored, as far as they are."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from simulations import RESULTS, store

ROOT = Path(__file__).parents[2]

PAGES = {
    "design_simulations": "comparing.md",
    "experiment_simulations": "comparing.md",
    "family_simulations": "comparing.md",
    "interleaving_simulations": "comparing.md",
    "online_simulations": "trend.md",
    "trend_simulations": "trend.md",
    "warmup_simulations": "measuring.md",
}
"""The page of each script whose tables are shown as they are stored, all of them or some."""

OTHER_FORMS = {
    "comparison_simulations",
    "error_rate_simulations",
    "tune_simulations",
    "within_race_simulations",
}
"""The scripts whose stored figures have another form on the page, with tests of their own."""

Table = list[list[str]]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(page: str) -> Iterator[Table]:
    """Yields the tables of a page of docs/, without the line below each heading."""
    yield from tables_of((ROOT / "docs" / page).read_text("utf-8"))


def tables_of(text: str) -> Iterator[Table]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("| ---"):
            end = next(at for at in range(number, len(lines) + 1) if lines[at : at + 1] in ([], [""]))
            yield [cells(each) for each in (lines[number - 1], *lines[number + 1 : end])]


def stored(script: str) -> dict[str, Table]:
    path = RESULTS / f"{script}.json"
    stored_tables = {name: table["rows"] for name, table in json.loads(path.read_text("utf-8")).items()}
    assert stored_tables, f"{path.name} has no tables"
    assert all(len(rows) > 1 for rows in stored_tables.values()), f"a table of {path.name} has no rows"
    return stored_tables


SOME_COLUMNS = {"found", "repetitions"}
"""The tables of which a page has only some columns, with tests of their own."""


@pytest.mark.parametrize("script", PAGES)
def test_rows_of_a_page_are_stored_rows(script: str) -> None:
    stored_tables = stored(script)
    assert shown_of(stored_tables, tables(PAGES[script])) == set(stored_tables) - SOME_COLUMNS, (
        f"docs/{PAGES[script]} has other figures than {script}.json"
    )


def shown_of(stored_tables: dict[str, Table], shown: Iterable[Table]) -> set[str]:
    """Returns the names of the stored tables of which some rows are shown, with their heading."""
    shown = list(shown)
    return {name for name, rows in stored_tables.items() for table in shown if is_part(table, rows)}


def is_part(table: Table, rows: Table) -> bool:
    return table[0] == rows[0] and len(table) > 1 and all(row in rows[1:] for row in table[1:])


@pytest.mark.parametrize(
    ("shown", "names"),
    [
        ("| a | b |\n| --- | --- |\n| 1 | 2 |\n", {"t"}),
        ("| a | b |\n| --- | --- |\n| 3 | 4 |\n| 1 | 2 |", {"t"}),
        ("| a | b |\n| --- | --- |\n\n| 1 | 2 |\n", set()),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 5 |\n", set()),
        ("| a | c |\n| --- | --- |\n| 1 | 2 |\n", set()),
        ("", set()),
    ],
)
def test_a_heading_alone_is_no_part_of_a_stored_table(shown: str, names: set[str]) -> None:
    stored_tables = {"t": [["a", "b"], ["1", "2"], ["3", "4"]]}
    assert shown_of(stored_tables, tables_of(shown)) == names


@pytest.mark.parametrize("content", ["{}", '{"t": {"rows": []}}', '{"t": {"rows": [["a", "b"]]}}'])
def test_a_file_without_rows_is_no_result(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "RESULTS", tmp_path)
    (tmp_path / "some_simulations.json").write_text(content, "utf-8")
    with pytest.raises(AssertionError, match=r"some_simulations\.json has no"):
        stored("some_simulations")


def test_all_stored_files_are_compared() -> None:
    assert {path.stem for path in RESULTS.glob("*_simulations.json")} == {*PAGES, *OTHER_FORMS}


def headed(page: str, *first: str) -> Table:
    """Returns the rows of the table of a page whose heading begins with these cells."""
    (rows,) = (table[1:] for table in tables(page) if table[0][: len(first)] == list(first))
    assert rows
    return rows


@pytest.mark.parametrize(
    ("page", "name", "heading", "percentiles"),
    [
        ("measuring.md", "percentiles", ("operations", "task"), ("p50", "p90", "p99", "p99.9")),
        ("saturating.md", "probes", ("operations", "probe"), ("p50", "p99")),
    ],
)
def test_figures_of_percentiles_are_stored_ones(page, name, heading, percentiles):
    figures = {tuple(row[:3]): _arrow(*row[3:]) for row in stored("within_race_simulations")[name]}
    for operations, task, *shown in headed(page, *heading, *percentiles):
        expected = [figures.get((operations, task, percentile), "–") for percentile in percentiles]
        assert shown == expected, (operations, task)


def _arrow(independent: str, interval: str, bounded: str) -> str:
    """Returns the share as if operations were independent, and that of the interval, with how many have an
    upper bound unless all do.
    """
    suffix = "" if bounded == "100 %" else f" ({bounded})"
    return f"{independent} → {interval.partition(' (')[0]}{suffix}"


def test_figures_of_comparisons_are_stored_ones() -> None:
    """The page has other words for the kinds of noise, and of some tables only the columns that matter."""
    by_name = stored("comparison_simulations")
    power = headed("comparing.md", "blocks", "noise", "detectable effect as planned")
    assert [[row[0], *row[2:]] for row in power] == [[row[0], *row[2:]] for row in by_name["power"][1:]]
    tails = headed("comparing.md", "noise", "blocks", 'interval excludes "no change": mean')
    assert [row[1:] for row in tails] == [[*row[1:4], *row[6:]] for row in by_name["tails"][1:]]
    families = headed("comparing.md", "metrics", "changed, by exactly 3 %")
    independent = [[*row[:2], *row[4:]] for row in by_name["families"][1:] if row[3] == "0"]
    assert all(row in independent for row in families)
    shown = shown_of(by_name, tables("comparing.md"))
    assert shown == {"other-drifts", "words"}


def test_figures_of_a_task_that_changed_are_stored_ones() -> None:
    """The page leaves out races in which nearly all changes are seen, and one correction."""
    seen = [row[:6] for row in stored("family_simulations")["found"][1:]]
    shown = headed("comparing.md", "change", "noise of a race", "races", "as compared")
    assert all(row in seen for row in shown)
    left_out = [row[:3] for row in seen if row not in shown]
    assert {(change, races) for change, _, races in left_out} == {
        (change, races) for change in ("+10 %", "+20 %") for races in ("10 + 10", "10 blocks")
    }


def test_figures_of_repeated_races_are_stored_ones() -> None:
    rows = {row[0]: row for row in stored("experiment_simulations")["repetitions"][1:]}
    shown = headed("decisions/021-disturbed-races-are-repeated-once.md", "blocks", "races that are disturbed")
    assert len(rows) == 2 * len(shown)
    for blocks, disturbed, *figures in shown:
        name = f"{blocks} blocks, {disturbed} of all races are disturbed and"
        left_out, repeated = rows[f"{name} left out"], rows[f"{name} repeated"]
        shares = [row[column].partition(" (")[0] for column in (8, 6) for row in (left_out, repeated)]
        assert figures == shares, name


def test_figures_of_error_rates_are_stored_ones():
    """The page has the designs without blocks, of a baseline of 0.02 % what is said of more than that."""
    tables_by_name = stored("error_rate_simulations")
    intervals = {tuple(row[:3]): row[3:6] for row in tables_by_name["coverage"]}
    words = {
        tuple(row[1:4]): [row[6], row[7], row[9]] for row in tables_by_name["words"] if row[0] == "0.02 %"
    }
    for failures, races, *shown in headed("comparing.md", "failures", "races of a side"):
        setting = (failures, races, "unpaired")
        assert shown == [*intervals[setting], *words[setting]], setting


def test_a_stored_table_replaces_only_itself(tmp_path, monkeypatch):
    monkeypatch.setattr("simulations.RESULTS", tmp_path)
    for name, figure in (("first", "1 %"), ("second", "2 %"), ("first", "3 %")):
        store(Path("some_simulations.py"), name, [("heading",), (figure,)], {"experiments": 5, "seed": 20})
    assert json.loads((tmp_path / "some_simulations.json").read_text("utf-8")) == {
        "first": {"experiments": 5, "seed": 20, "rows": [["heading"], ["3 %"]]},
        "second": {"experiments": 5, "seed": 20, "rows": [["heading"], ["2 %"]]},
    }
