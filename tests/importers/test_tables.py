"""Tables anywhere in a text."""

from __future__ import annotations

import pytest

from importers.samples import PUBLISHED, SUMMARY
from pacenote.errors import PacenoteError
from pacenote.importers import table_races
from pacenote.importers.table_races import races_in_text
from pacenote.importers.tables import Table

FIRST_VERSIONS = """\
Comparing baseline
  TestRun ID: aaa

with contender
  TestRun ID: bbb

                                     Metric    Baseline    Contender        Diff
-------------------------------------------  ----------  -----------  ----------
        Median Indexing Throughput [docs/s]       20232      19927.5  -304.50000
                  Total indexing time [min]        55.8       56.335    +0.53500
  Query latency term (50.0 percentile) [ms]        2.1          2.15    +0.05000
        Indices Stats(90.0 percentile) [ms]        3.16         3.21    +0.05000
                              Segment count         136          121   -15.00000
"""

ROWS = (
    ("Metric", "Task", "Value", "Unit"),
    ("Segment count", "", "36", ""),
    ("Mean Throughput", "index", "1,234.5", "docs/s"),
    ("99th percentile service time", "match all", "5.25", "ms"),
    ("error rate", "index", "0", "%"),
)
FIGURES = [
    ("Segment count", "", 36.0, ""),
    ("Mean Throughput", "index", 1234.5, "docs/s"),
    ("99th percentile service time", "match all", 5.25, "ms"),
    ("error rate", "index", 0.0, "%"),
]


def figures(race):
    return [(value.metric, value.task, value.value, value.unit) for value in race.values]


def lines(separator, before="", after=""):
    return "\n".join(before + separator.join(row) + after for row in ROWS)


@pytest.mark.parametrize(
    "text",
    [
        lines(" | ", "| ", " |"),
        lines(" | "),
        lines("|", "2024-01-02 03:04:05,123 -not-actor- INFO |", "|"),
        lines(" | ", "> | ", " |"),
        lines(" │ ", "│ ", " │").replace("\n", "\n├──┼──┼──┼──┤\n"),
        lines(" | ", "\x1b[1m| ", " |\x1b[0m").replace("1,234.5", "\x1b[32m1,234.5\x1b[0m"),
        lines(" | ", "| **", "** |").replace("5.25", "`5.25`"),
        lines(",").replace("1,234.5", '"1,234.5"'),
        lines(";"),
        lines("\t"),
        lines("   ").replace("Segment count      36   ", "Segment count      36"),
        "\r\n".join(lines(" | ", "| ", " |").split("\n")),
        f"some text\n\n{lines(' | ', '| ', ' |')}\n\n[INFO] SUCCESS\n",
    ],
    ids=[
        *("markdown", "bare", "log", "quoted", "box", "colours", "styles", "csv", "semicolons", "tabs"),
        *("aligned", "windows", "within-text"),
    ],
)
def test_a_table_is_found_in_every_form(text):
    races, problems = races_in_text(text)
    assert [figures(race) for race in races] == [FIGURES]
    assert problems == ()


def test_what_rally_prints_before_a_summary_describes_the_race():
    (race,), problems = races_in_text(SUMMARY)
    assert problems == ()
    facts = race.facts
    assert (facts.tool, facts.track, facts.challenge) == ("rally", "geonames", "append-no-conflicts")
    assert (facts.car, facts.version) == (("4gheap",), "7.17.0")
    assert len(race.values) == 16


def test_a_comparison_has_two_races_each_with_its_own_header():
    (old, new), _ = races_in_text(f"A text.\n{PUBLISHED}\nMore text.")
    assert (old.side, new.side) == ("baseline", "contender")
    assert (old.facts.race_id or "")[:8] == "2716fc79"
    assert new.facts.timestamp is not None
    assert new.facts.timestamp.isoformat() == "2021-12-07T04:46:31+00:00"
    assert new.facts.user_tags == {"jvm_memory_size": "64GB"}
    assert ("error rate", "index", 80.1289, "%") in figures(old)
    assert ("error rate", "index", 74.8857, "%") in figures(new)
    # The name of Rally's first versions.
    assert ("Total Young Gen GC time", "", 0.88, "s") in figures(old)


def test_opensearch_benchmark_has_its_own_words():
    text = PUBLISHED.replace("Race ID", "TestRun ID").replace("Race timestamp", "TestRun timestamp")
    text = text.replace("Challenge", "TestProcedure").replace("Car:", "ClusterConfig:")
    (old, _), _ = races_in_text(text)
    assert (old.facts.tool, old.facts.challenge, old.facts.car) == (
        "opensearch-benchmark",
        "append-no-conflicts",
        ("external",),
    )


def test_the_tool_of_a_bare_table_is_not_known():
    (race,), _ = races_in_text(lines(","))
    assert (race.facts.tool, race.facts.track, race.facts.race_id) == ("unknown", None, None)


def test_tables_that_follow_each_other_without_a_blank_line_are_separate():
    text = lines(" | ", "| ", " |")
    races, problems = races_in_text(f"{text}\n{text}")
    assert ([figures(race) for race in races], problems) == ([FIGURES, FIGURES], ())
    races, problems = races_in_text("Metric,Task,Value\nMean Throughput,a,5\n" * 2)
    assert (len(races), problems) == (2, ())


@pytest.mark.parametrize("form", [" | ", ","])
def test_names_may_have_two_underscores(form):
    text = lines(form).replace("match all", "match__all__fields")
    (race,), _ = races_in_text(text.replace("5.25", "__5.25__" if form == " | " else "5.25"))
    assert figures(race)[2] == ("99th percentile service time", "match__all__fields", 5.25, "ms")


def test_the_points_of_a_table_with_decimal_commas_separate_thousands():
    (race,), problems = races_in_text(
        "Metric;Task;Value;Unit\nMean Throughput;a;61.234;docs/s\nerror rate;a;12,5 %;\n"
    )
    assert ([value.value for value in race.values], problems) == ([61234.0, 12.5], ())


def test_the_columns_of_a_table_have_the_same_decimal_commas():
    """The baseline alone would be 1.234."""
    (old, new), _ = races_in_text(
        "Metric;Task;Baseline;Contender;Diff;Unit\nMean Throughput;a;1.234;1.240,5;6,5;docs/s\n"
    )
    assert [race.values[0].value for race in (old, new)] == [1234.0, 1240.5]
    assert old.contradictions == ()
    (old, new), _ = races_in_text(
        "Metric;Task;Baseline;Contender;Diff %;Unit\nMean Throughput;a;1.234;1.240;+0,49 %;docs/s\n"
    )
    assert [race.values[0].value for race in (old, new)] == [1234.0, 1240.0]


def test_lines_that_are_too_long_are_not_searched():
    (race,), _ = races_in_text("Metric | " * 2_000 + "\n" + lines(" | ", "| ", " |"))
    assert figures(race) == FIGURES


def test_a_file_may_have_several_summaries():
    races, _ = races_in_text(SUMMARY + SUMMARY.replace("62000", "64000").replace("geonames", "pmc"))
    assert [race.facts.track for race in races] == ["geonames", "pmc"]
    assert [race.values[3].value for race in races] == [62000.0, 64000.0]


def test_the_summary_of_all_laps_counts():
    text = lines(" | ", "| All | ", " |").replace("| All | Metric", "| Lap | Metric")
    (race,), _ = races_in_text(f"{text}\n| 1 | Segment count | | 77 | |")
    assert figures(race) == FIGURES


class CountedText(str):
    """A cell that counts how often it is compared."""

    count = 0

    def lower(self):
        CountedText.count += 1
        return super().lower()


def test_a_table_is_read_once_for_all_laps():
    rows = tuple((CountedText(lap), "Mean Throughput") for lap in "12312")
    laps = list(table_races._laps(Table(1, ("lap", "metric"), rows, 6)))
    assert [len(lap) for lap in laps] == [2, 2, 1]
    assert CountedText.count == len(rows)


def test_a_race_with_several_clusters_has_one_column_for_each():
    head = "| Metric | Task | hot | cold | Unit |\n|---|---|---|---|---|\n"
    races, _ = races_in_text(f"{head}| Mean Throughput | index | 5 | 6 | docs/s |")
    assert [(race.cluster, race.values[0].value) for race in races] == [("hot", 5.0), ("cold", 6.0)]


def test_rows_that_cannot_be_read_are_named_and_the_others_count():
    text = lines(" | ", "| ", " |") + "\n".join((
        "",
        "| Max Throughput | index | a lot | docs/s |",
        "| 50th percentile latency | index | 5 | GB |",
        "| 90th percentile latency | index | - | ms |",
        "| error rate | index | 5 | % |",
    ))
    (race,), problems = races_in_text(text)
    assert figures(race) == FIGURES
    assert [problem.split(", ", 1)[1] for problem in problems] == [
        "'Max Throughput' of 'index': 'a lot' is not a number",
        "'50th percentile latency' of 'index': 'GB' is not a unit of it",
        "'error rate' of 'index': it has two values; the first one counts",
    ]


def test_tasks_whose_names_are_cut_to_the_same_one_are_not_called_two_values_of_one():
    rows = "\n".join(f"| error rate | {'t' * 300}{end} | {end} | % |" for end in (1, 2))
    (race,), (problem,) = races_in_text(f"| Metric | Task | Value | Unit |\n|---|---|---|---|\n{rows}")
    assert len(race.values) == 1
    assert problem.endswith(
        ": the first 300 characters of its names are those of another; the first one counts"
    )


def test_a_difference_that_is_not_that_of_the_values_is_named():
    head = "Metric,Task,Baseline,Contender,Diff,Unit\n"
    rows = (
        "Mean Throughput,a,100017,115730,15713.4,docs/s",
        "50th percentile latency,a,2.3,2.5,0.15,ms",
        "90th percentile latency,a,8,9,-9999,ms",
        "99th percentile latency,a,8,9,,ms",
    )
    races, problems = races_in_text(head + "\n".join(rows))
    assert problems == ()
    wrong = ("90th percentile latency of a: 8 to 9 is not a change of -9999",)
    assert [race.contradictions for race in races] == [wrong, wrong]


def test_a_side_of_a_comparison_without_figures_is_named():
    (race,), problems = races_in_text("Metric,Task,Baseline,Contender,Unit\nMean Throughput,a,5,,docs/s\n")
    assert (race.side, problems) == (
        "baseline",
        ("the table in line 1: the contender has no figure of a task",),
    )


def test_missing_columns_are_not_needed():
    (race,), _ = races_in_text("Metric,Task,Value\nMean Throughput,index,5\nerror rate,index,1 %\n")
    assert figures(race) == [("Mean Throughput", "index", 5.0, ""), ("error rate", "index", 1.0, "%")]


def test_the_first_versions_of_rally_had_task_and_unit_in_the_name_of_the_metric():
    (old, new), problems = races_in_text(FIRST_VERSIONS)
    assert problems == ()
    assert (old.facts.race_id, new.facts.race_id) == ("aaa", "bbb")
    assert figures(old) == [
        ("Median Throughput", "indexing", 20232.0, "docs/s"),
        ("Cumulative indexing time of primary shards", "", 55.8, "min"),
        ("50th percentile latency", "term", 2.1, "ms"),
        ("90th percentile latency", "Indices Stats", 3.16, "ms"),
        ("Segment count", "", 136.0, ""),
    ]
    assert new.values[2].value == 2.15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "just a text about a metric",
            "no summary or comparison of Rally or OpenSearch Benchmark found in it",
        ),
        ("| Metric | Value |\n|---|---|\n| heap | 5 |", "no summary or comparison"),
        ("Metric,Task,Value,Unit\nSegment count,,5,\n", "no summary or comparison"),
        ("Metric,Task,Value,Unit\nMean Throughput,index,many,docs/s\n", "'many' is not a number"),
        ("- Race ID: 1\n" + SUMMARY.partition("---\n")[2], "is a report of Pacenote"),
        (
            "Metric,Task,Baseline,Contender,Diff,Unit,Verdict\nMean Throughput,a,1,2,1,docs/s,worse\n",
            "is a report of Pacenote",
        ),
        (
            "Metric,Task,Value,Unit,Mark,Low,High,Race ID\nMean Throughput,a,5,docs/s\n",
            "is a report of Pacenote",
        ),
    ],
)
def test_a_text_without_figures_of_tasks_is_refused(text, message):
    with pytest.raises(PacenoteError, match=r".") as error:
        races_in_text(text)
    assert message in error.value.message
    assert error.value.hint


def test_the_size_of_a_file_is_limited(monkeypatch):
    monkeypatch.setattr(table_races, "MAX_RACES", 1)
    with pytest.raises(PacenoteError, match="more than 1 tables or races"):
        races_in_text(SUMMARY * 3)
    for text in ("a," * 40, "a | " * 40, "a  " * 40):
        with pytest.raises(PacenoteError, match="line 1 has more than 30 columns"):
            races_in_text(f"Metric{text[1:]}\n")
    monkeypatch.setattr(table_races, "MAX_ROWS", 5)
    with pytest.raises(PacenoteError, match="more than 5 rows"):
        races_in_text(SUMMARY)


def test_the_clusters_of_a_table_do_not_repeat_a_long_name():
    clusters = [f"c{number}" for number in range(20)]
    heads = " | ".join(["Metric", "Task", "Unit", *clusters])
    odd = " | ".join(["50th percentile latency", "A" * 9_000, "ms", *["odd"] * 20])
    good = " | ".join(["Mean Throughput", "B" * 9_000, "docs/s", *["1.5"] * 20])
    text = "\n".join(f"| {line} |" for line in (heads, "---|" * 22 + "---", good, odd))
    races, problems = races_in_text(text)
    assert len(races) == 20
    assert problems
    assert max(map(len, problems)) < 300
    assert {len(value.task) for race in races for value in race.values} == {300}
