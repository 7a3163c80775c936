"""`pacenote compare`: races, formats, gates and errors."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from compare.quality_races import returned
from compare.races import blocks, compared, index, many_bulks, race, search
from pacenote.compare.groups import compare_groups
from pacenote.lab.experiment.noise import noise_key
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.finding import Finding
from pacenote.model.race_record import Environment, Verdict
from pacenote.report.screen.comparison import comparison_lines
from pacenote.report.screen.text import plain_text
from pacenote.store.race_store import RaceStore


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A home with two variants in four blocks; the contender indexes 20 % faster."""
    store = RaceStore(tmp_path_factory.mktemp("home"))
    for side in blocks(4, factor=1.2, noise=0.002):
        for record in side:
            first, *rest = record.tasks
            own = many_bulks(first.throughput.mean)
            store.create(replace(record, tasks=(own, *rest)))
    return store


@pytest.fixture
def races(stored, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(stored.home))


SIDES = ("--baseline=tag:variant=a", "--contender=tag:variant=b")


def test_the_answer_comes_first(run, races):
    code, out, err = run("compare", *SIDES, "--report=short")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(" BETTER  throughput of index-append +2")
    assert [line.split("?")[0].strip() for line in lines[2:12] if "?" in line] == [
        *("Better", "How much", "How sure", "Trust it", "What next"),
    ]
    assert "from 4 blocks" in out
    assert "no operation failed: index-append, term" in out
    assert "race.car_params.heap: 1g → 2g" in out
    assert "Order      B C C B B C C B" in out
    text = " ".join(out.split())
    assert "changes that matter: throughput ≥ +3 % or ≤ -2.91 %, p90 ≥ +5 % or ≤ -4.76 %" in text


def test_the_comparison_can_be_a_page(run, races, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", *SIDES, "--html", "--fail-on=worse")
    assert (code, out, err) == (0, "comparison.html\n", "")
    text = (tmp_path / "comparison.html").read_text("utf-8")
    assert ">better</p>" in text
    command = "pacenote compare --baseline=tag:variant=a --contender=tag:variant=b"
    assert " ".join(f"<span>{word}</span>" for word in command.split()) in text
    assert "<span>pacenote</span> <span>race</span>" in text
    assert run("compare", *SIDES, "--html=new/other.html")[:2] == (0, "new/other.html\n")
    assert (tmp_path / "new" / "other.html").read_text("utf-8") == text


def test_the_screen_fits_narrow_and_wide_terminals(run, races, monkeypatch):
    for width in (60, 80, 100, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        out = run("compare", *SIDES, "--report=short")[1]
        shown = out.partition(" Next ")[0].splitlines()
        assert max(map(len, shown)) <= width
        # A narrow screen shows the interval and the verdict of each metric, too.
        assert any(line.endswith("better") and "…" in line and "throughput" in line for line in shown)
        assert ("Detectable" in out) == (width >= 100)


def test_markdown_has_rallys_table_and_the_verdicts(run, races):
    code, out, _ = run("compare", *SIDES)
    assert code == 0
    assert out.startswith("# better: throughput of index-append +2")
    heads = next(line for line in out.splitlines() if line.startswith("| ") and "Metric" in line)
    assert [each.strip() for each in heads.strip("|").split("|")] == [
        *("Metric", "Task", "Baseline", "Contender", "Diff", "Unit", "Diff %"),
        *("Change", "Interval", "Detectable", "Verdict"),
    ]


def test_csv_has_rallys_rows_with_rallys_digits(run):
    store = RaceStore()
    for name, rate in (("a", 10_000.0), ("b", 9_000.0)):
        store.create(race(name, tasks=(index(rate), search())))
    lines = run("compare", "--baseline=a", "--contender=b", "--report-format=csv")[1].splitlines()
    assert lines[0] == "Metric,Task,Baseline,Contender,Diff,Unit,Diff %"
    assert "Mean Throughput,index-append,10000.0,9000.0,-1000.00000,docs/s,-10.00%" in lines
    assert "50th percentile latency,term,2.5,2.5,0.00000,ms,0.00%" in lines
    assert "Median cumulative indexing time across primary shard,,0.3,0.3,0.00000,min,0.00%" in lines
    full = run("compare", "--baseline=a", "--contender=b", "--report-format=csv-full")[1].splitlines()
    assert full[0].endswith("Diff %,Role,Verdict,Change,Low,High,Confidence,P,Detectable,Reason,Mark")
    assert any(line.endswith("primary,no verdict,,,,,,,one race each,") for line in full)


def test_json_has_the_word_of_every_metric(run, races):
    document = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    assert document["answer"] == "better"
    words = {each["metric"]["label"]: each["word"] for each in document["metrics"]}
    assert words["throughput:index-append"] == "better"
    assert words["p50-latency:term"] == "same"


def test_junit_has_a_case_for_each_primary_metric(run, races):
    text = run("compare", *reversed(SIDES), "--report-format=junit")[1]
    swapped = run("compare", "--baseline=tag:variant=b", "--contender=tag:variant=a", "--report-format=junit")
    suite = ElementTree.fromstring(swapped[1])
    assert ElementTree.fromstring(text).get("failures") == "0"
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    failed = next(case for case in suite if case.find("failure") is not None)
    assert (failed.get("classname"), failed.get("name")) == ("index-append", "Mean Throughput")
    assert re.search(r"worse: -[\d.]+ % \(interval -", failed.find("failure").get("message"))
    assert (suite.get("tests"), suite.get("skipped")) == (str(len(suite)), "0")


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("worse:PRIMARY", 3),
        ("worse:throughput:index-append", 3),
        ("probably-worse:throughput", 3),
        ("regression", 3),
        ("worse:p99:term", 0),
    ],
)
def test_a_gate_fails_with_exit_code_3(run, races, gate, code):
    sides = ("--baseline=tag:variant=b", "--contender=tag:variant=a")
    assert run("compare", *sides, f"--fail-on={gate}")[0] == code


@pytest.mark.parametrize(
    "gates",
    [
        ("--fail-on=worse:primary", "--fail-on=worse:p99"),
        ("--fail-on=worse:p99", "--fail-on=worse:primary"),
        ("--fail-on=worse:p99,probably-worse:throughput:index-append",),
    ],
)
def test_all_gates_count_and_one_that_fires_is_named(run, races, gates):
    sides = ("--baseline=tag:variant=b", "--contender=tag:variant=a")
    code, _, err = run("compare", *sides, "--report-format=json", *gates)
    assert (code, err) == (3, "warning: --fail-on: throughput:index-append is worse\n")


def test_gates_replace_the_configured_one(run, races, tmp_path, monkeypatch):
    (tmp_path / "pacenote.toml").write_text('[compare]\nfail-on = "worse"\n')
    monkeypatch.chdir(tmp_path)
    sides = ("--baseline=tag:variant=b", "--contender=tag:variant=a")
    assert run("compare", *sides)[0] == 3
    assert run("compare", *sides, "--fail-on=worse:p99")[0] == 0


def test_a_gate_does_not_fail_for_what_is_better(run, races):
    assert run("compare", *SIDES, "--fail-on=worse")[0] == 0


def test_a_gate_that_cannot_fail_is_pointed_out(run, races):
    """Otherwise, it would be green for ever."""
    sides = ("--baseline=a0", "--contender=b0")
    code, _, err = run("compare", *sides, "--fail-on=worse")
    assert (code, err) == (0, "warning: --fail-on=worse:primary cannot fail: one race each\n")
    code, _, err = run("compare", "--baseline=a0,a1", "--contender=b0,b1", "--fail-on=worse:p50-latency")
    assert (code, err) == (
        0,
        "warning: --fail-on=worse:p50-latency cannot fail: 2 blocks: an interval needs 3\n",
    )
    # That no operation failed is a result.
    assert run("compare", *SIDES, "--fail-on=worse:error-rate")[::2] == (0, "")


def test_a_gate_for_worse_is_of_no_use_for_groups_that_ran_after_each_other(run):
    store = RaceStore()
    for side, rate in (("a", 10_000.0), ("b", 5_000.0)):
        for number in range(3):
            store.create(race(f"{side}{number}", number + 10 * (side == "b"), tasks=(index(rate + number),)))
    sides = ("--baseline=a0,a1,a2", "--contender=b0,b1,b2")
    code, _, err = run("compare", *sides, "--fail-on=worse")
    assert (code, "the contender ran after the baseline" in err, "use probably-worse" in err) == (
        0,
        True,
        True,
    )
    assert run("compare", *sides, "--fail-on=probably-worse")[0] == 3


def test_percentiles_of_one_race_each_have_the_interval_of_their_operations(run, races):
    sides = ("--baseline=a0", "--contender=b0")
    out = " ".join(run("compare", *sides, "--report=short")[1].split())
    assert (
        "how precisely the two races measured themselves, but not how much another race would differ" in out
    )
    assert "term, service time: p50 " in out
    table = run("compare", *sides)[1].partition("## Percentiles")[2].splitlines()
    (row,) = (line for line in table if "50th percentile service time" in line and "term" in line)
    assert "…" in row
    assert "## Percentiles" not in run("compare", *SIDES)[1]
    assert "medians" not in run("compare", *sides)[1]
    assert "Values are medians of the races." in run("compare", *SIDES)[1]
    document = json.loads(run("compare", *sides, "--report-format=json")[1])
    assert {"value", "low", "high"} in [set(each["shift"] or ()) for each in document["metrics"]]


def test_races_and_metrics_may_be_given_one_by_one(run, races):
    given = ("--baseline=a0", "--baseline=a1,a2", "--contender=b0,b1,b2")
    code, out, _ = run("compare", *given, "--primary=p50:term", "--primary=p90:term", "--report=short")
    assert (code, "from 3 blocks" in out) == (0, True)
    assert suggested(out) == [
        *("--baseline=a0,a1,a2", "--contender=b0,b1,b2", "--primary=p50:term,p90:term", "--report=full"),
    ]


def suggested(out):
    """Returns the options of the comparison that the screen suggests."""
    (line,) = (line for line in out.splitlines() if line.startswith(" Next"))
    return shlex.split(line.partition("compare ")[2].partition("   ")[0])


def test_the_commands_on_the_screen_repeat_what_was_asked_for(run, races, stored, tmp_path):
    asked = ("--primary=throughput:index-append", "--smallest-effect=7")
    out = run("compare", *SIDES, *asked, "--report=short")[1]
    assert suggested(out) == [*SIDES, *asked, "--report=full"]
    assert "diff a0 b0" in out
    for number in range(4):
        shutil.copytree(stored.races / f"a{number}", tmp_path / "a copy, of races" / f"a{number}")
    baseline = f"--baseline={tmp_path}/a copy\\, of races"
    out = run("compare", baseline, SIDES[1], "--report=short")[1]
    assert suggested(out) == [baseline, SIDES[1], "--report=full"]
    # `pacenote diff` does not read other folders.
    assert "diff " not in out


def test_a_damaged_race_of_a_folder_limits_the_answer(run, races, stored, tmp_path):
    for number in range(4):
        shutil.copytree(stored.races / f"a{number}", tmp_path / f"a{number}")
    (tmp_path / "a2" / "race.json").write_text("{")
    code, out, _ = run("compare", f"--baseline={tmp_path}", SIDES[1], "--report-format=json")
    document = json.loads(out)
    assert (code, [each["race_id"] for each in document["baseline"]["races"]]) == (0, ["a0", "a1", "a3"])
    limits = [each["text"] for each in document["findings"]]
    assert any(text.startswith("not compared: ") and "a2/race.json" in text for text in limits)


def test_races_in_folders_with_other_names_have_short_ids(run, tmp_path):
    races = [record.race_id for record in (race(f"{n:08}-1111-2222-3333-444444444444") for n in range(2))]
    for number, race_id in enumerate(races):
        store = RaceStore(tmp_path / str(number))
        store.create(race(race_id, number, verdict=Verdict("void", (Finding("broken"),))))
        (store.races / race_id).rename(tmp_path / f"copy-{number}")
    out = run("compare", f"--baseline={tmp_path / 'copy-0'}", f"--contender={tmp_path / 'copy-1'}")[1]
    assert "races 00000000 and 00000001 are void" in out
    assert "by its name" not in out


def test_races_of_the_home_have_the_names_of_their_folders(run):
    store = RaceStore()
    races = [record.race_id for record in (race(f"{n:08}-1111-2222-3333-444444444444") for n in range(2))]
    for number, race_id in enumerate(races):
        store.create(race(race_id, number, verdict=Verdict("void", (Finding("broken"),))))
        (store.races / race_id).rename(store.races / f"copy-{number}")
    out = run("compare", "--baseline=copy-0", f"--contender={store.races / 'copy-1'}")[1]
    assert "races copy-0 and copy-1 are void" in out
    for number, race_id in enumerate(races):
        copy = store.races / f"copy-{number}"
        assert f"- {copy} is race copy-{number} by its name, but says that it is race {race_id}\n" in out


@pytest.mark.parametrize(
    ("noise", "doubtful_from", "head", "code"),
    [
        (0.1, None, "# better in 1 of 2 metrics: throughput", 0),
        (0.002, 90.0, "# partly void: throughput", 3),
    ],
)
def test_the_answer_and_the_gate_agree(run, noise, doubtful_from, head, code):
    store = RaceStore()
    verdict = Verdict("suspect", (Finding("late", "machine", "", ("term",), doubtful_from),))
    for side in blocks(5, 1.3, noise):
        for record in side:
            store.create(replace(record, verdict=verdict))
    outcome = run("compare", *SIDES, "--fail-on=worse")
    assert (outcome[0], outcome[1].partition(" of index")[0]) == (code, head)


def test_a_void_error_rate_of_0_is_no_reason_to_fail(run):
    """The answer does not count it, either."""
    store = RaceStore()
    verdict = Verdict("suspect", (Finding("busy", "driver", "", ("term",), 0.0),))
    for side in blocks(5, 1.3, 0.002):
        for record in side:
            store.create(replace(record, verdict=verdict))
    asked = (*SIDES, "--primary=throughput:index-append,error-rate", "--fail-on=worse:primary")
    code, out, err = run("compare", *asked, "--report-format=junit")
    suite = ElementTree.fromstring(out)
    assert (code, err, suite.get("errors"), suite.get("failures")) == (0, "", "0", "0")
    assert run("compare", *asked, "--primary=error-rate,p50-latency")[0] == 3


def test_a_gate_fails_if_the_comparison_is_void(run):
    store = RaceStore()
    store.create(race("a"))
    store.create(race("b", 1, challenge="other"))
    sides = ("--baseline=a", "--contender=b")
    code, out, _ = run("compare", *sides)
    assert (code, out.splitlines()[0]) == (
        0,
        "# void: the races are of different challenges: append-no-conflicts, other",
    )
    code, _, err = run("compare", *sides, "--fail-on=worse")
    assert (code, err) == (
        3,
        "warning: --fail-on: the comparison is void: the races are of different challenges: "
        "append-no-conflicts, other\n",
    )
    suite = ElementTree.fromstring(run("compare", *sides, "--report-format=junit")[1])
    assert suite.get("errors") == suite.get("tests")


def test_races_without_a_common_task_have_a_junit_case(run):
    store = RaceStore()
    store.create(race("a", tasks=(index(),)))
    store.create(race("b", 1, tasks=(search(),)))
    text = run("compare", "--baseline=a", "--contender=b", "--report-format=junit")[1]
    assert ElementTree.fromstring(text).get("errors") == "1"


def test_junit_is_xml_whatever_a_runner_calls_its_numbers(run):
    store = RaceStore()
    for name, mean in (("a", 0.9), ("b", 0.8)):
        values = {"recall@\x08\x1b\uffff": returned(mean)}
        store.create(race(name, tasks=(replace(search(), values=values),)))
    text = run("compare", "--baseline=a", "--contender=b", "--report-format=junit")[1]
    names = [case.get("name") for case in ElementTree.fromstring(text).iter("testcase")]
    assert "mean recall@" in names


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--baseline=a0",), 2, "the following arguments are required: --contender"),
        (("--baseline=a0", "--contender=a0"), 2, "race a0 is in the baseline and in the contender"),
        (("--baseline=a0", "--contender=zz"), 64, "no race 'zz' in "),
        (("--baseline=tag:x=y", "--contender=b0"), 64, "has the tag x=y"),
        (("--baseline=,", "--contender=b0"), 2, "no race or metric is named"),
        (
            (*SIDES, "--primary=p99:trem"),
            2,
            "the races have no common metric 'p99:trem'\nhint: did you mean p99:term",
        ),
        (
            (*SIDES, "--report=short", "--report-format=junit"),
            2,
            "--report=short is not available as junit\nhint: omit --report=short or --report-format",
        ),
        ((*SIDES, "--fail-on=better"), 2, "--fail-on cannot begin with 'better'"),
        ((*SIDES, "--fail-on="), 2, "--fail-on is empty"),
        ((*SIDES, "--fail-on=worse:"), 2, "--fail-on=worse: names no metric"),
        ((*SIDES, "--fail-on=worse:p99:x"), 2, "--fail-on: the races have no common metric 'p99:x'"),
        (
            (*SIDES, "--fail-on=worse", "--fail-on=worse:x"),
            2,
            "--fail-on: the races have no common metric 'x'",
        ),
        ((*SIDES, "--primary=nosuch"), 2, "p99.99-service-time"),
        ((*SIDES, "--primary=nosuch"), 2, "; tasks: index-append, term\n"),
        ((*SIDES, "--smallest-effect=-3"), 2, "--smallest-effect: must be a number above 0"),
    ],
)
def test_errors_say_what_is_wrong(run, races, arguments, code, message):
    outcome = run("compare", *arguments)
    assert (outcome[0], outcome[1]) == (code, "")
    assert message in outcome[2]


def test_the_full_comparison_is_written_to_a_file(run, races, tmp_path):
    file = tmp_path / "new" / "comparison.json"
    arguments = ("compare", *SIDES, "--report=short", "--report-format=json", f"--report-file={file}")
    code, out, _ = run(*arguments)
    assert code == 0
    assert out.startswith(" BETTER ")
    assert json.loads(file.read_text())["answer"] == "better"
    assert "the report is in " in run(*arguments)[2]


def test_names_from_tracks_do_not_reach_the_terminal_as_they_are(run):
    store = RaceStore()
    for order, name in enumerate("ab"):
        store.create(
            race(name, order, tasks=(search(name="term\x1b]0;x\x07\n|"),), car_params={"x\n|": name})
        )
    for option in ("--report=short", "--report=full", "--report-format=junit"):
        out = run("compare", "--baseline=a", "--contender=b", option)[1]
        assert all(line.isprintable() for line in out.splitlines())
        assert "\\|" in out or option != "--report=full"


def test_a_void_comparison_gives_reasons_instead_of_figures(run):
    store = RaceStore()
    store.create(race("a"))
    store.create(race("b", 1, challenge="other"))
    lines = run("compare", "--baseline=a", "--contender=b", "--report=short")[1].splitlines()
    assert lines[0].startswith(" VOID  the races are of different challenges: append-no-conflicts, other")
    assert "  Better?    no answer: the races must not be compared" in lines
    assert not any(line.startswith(("  How much?", "  How sure?")) for line in lines)


def test_many_metrics_do_not_push_the_answer_off_a_terminal():
    tasks = [search(name=f"term-{number}") for number in range(8)]
    sides = [
        [race(f"{side}{n}", n, tasks=(index(rate), *tasks)) for n in range(3)]
        for side, rate in (("a", 1e4), ("b", 2e4))
    ]
    asked = ComparisonOptions(("throughput:index-append", "p50", "p90", "p99", "p50-service-time"))
    comparison = compare_groups(compared(*sides[0]), compared(*sides[1]), asked)
    lines = plain_text(comparison_lines(comparison, (), 100, height=40)).splitlines()
    assert sum(line.startswith((" term-", " index-append")) for line in lines) == 24
    assert "and 12 more: 12 same" in " ".join(lines)
    assert any(line.startswith(" index-append  throughput") for line in lines)
    assert [line.split("?")[0].strip() for line in lines[-8:] if "?" in line] == [
        *("Better", "How much", "How sure", "Trust it", "What next"),
    ]
    trust = [line for line in lines if line.startswith("  Trust it?")]
    assert ["below" in line for line in trust] == [True, False]
    assert "above" in trust[1]


def test_measured_noise_is_used_for_one_race_each_on_the_same_host(run):
    store = RaceStore()
    here, there = (Environment(cpu_model="A CPU", host_name=name) for name in ("here", "0123456789ab"))
    for number, name in enumerate("abc"):
        store.create(race(name, number, environment=there if name == "c" else here))
    entry = {"races": 20, "metrics": {"throughput:index-append": {"spread": 0.01, "mean": 1.0}}}
    (store.home / "noise.json").write_text(json.dumps({noise_key(race("a", environment=here)): entry}))
    arguments = ("compare", "--baseline=a", "--contender=b", "--report=short")
    out = " ".join(run(*arguments)[1].split())
    assert "two races of the same configuration differ by up to 3.0 % here" in out
    other = run("compare", "--baseline=a", "--contender=c", "--report=short")[1]
    assert "their spread is unknown" in " ".join(other.split())
    (store.home / "noise.json").write_text("{")
    assert "their spread is unknown" in " ".join(run(*arguments)[1].split())


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--fail-on=unclear"], 0, ""),
        (["--fail-on=same:p90:term"], 3, "p90-latency:term is same"),
        (["--fail-on=void,no-verdict"], 0, ""),
        (["--require=no-worse:5%"], 0, ""),
        (["--require=no-worse:5%:p100:term"], 3, "is not shown of p100-latency:term (no verdict"),
    ],
)
def test_gates_take_every_word_and_can_demand_evidence(run, races, options, code, told):
    outcome = run("compare", *SIDES, *options)
    assert outcome[0] == code
    assert told in outcome[2]
    assert bool(outcome[2]) == bool(told)
    swapped = ("--baseline=tag:variant=b", "--contender=tag:variant=a")
    code, _, err = run("compare", *swapped, "--require=no-worse:5%")
    assert (code, "is not shown of throughput:index-append (95 % interval -1" in err) == (3, True)
    assert run("compare", *swapped, "--require=no-worse:30%")[0] == 0


@pytest.mark.parametrize("text", ["no-worse", "no-worse:5", "no-better:5%", "no-worse:0%", ""])
def test_requirements_of_another_form_are_refused(run, races, text):
    assert run("compare", *SIDES, f"--require={text}")[0] == 2


def test_a_gate_that_is_nearly_blind_is_pointed_out(run):
    store = RaceStore()
    for side in blocks(3, 1.0, 0.2):
        for record in side:
            store.create(record)
    code, out, err = run("compare", *SIDES, "--fail-on=probably-worse", "--report-format=junit")
    assert code == 0
    assert "--fail-on=probably-worse:primary can hardly fail: of " in err
    assert "would have been seen, and " in err
    suite = ElementTree.fromstring(out)
    assert "can hardly fail" in suite.find("system-err").text
    # A requirement fails instead, as nothing is shown.
    code, out, err = run("compare", *SIDES, "--require=no-worse:5%", "--report-format=junit")
    assert code == 3
    assert int(ElementTree.fromstring(out).get("failures")) >= 1


def test_a_side_of_several_configurations_is_refused_or_named(run):
    store = RaceStore()
    for number, heap in enumerate(("1g", "2g", "2g", "4g", "4g")):
        side = "base" if heap == "1g" else "other"
        store.create(race(f"r{number}", number, car_params={"heap": heap}, user_tags={"side": side}))
    asked = ("--baseline=tag:side=base", "--contender=tag:side=other")
    code, _, err = run("compare", *asked)
    assert code == 2
    assert "the races of the contender are of several configurations: car parameter heap: " in err
    assert "2g (2)" in err
    code, out, _ = run("compare", *asked, "--mixed-sides")
    assert code == 0
    assert "the races of the contender are of several configurations" in out


@pytest.fixture
def three(run):
    """Two contenders in the blocks of the baseline: one indexes 20 % faster, the other one 20 % slower."""
    store = RaceStore()
    baseline, faster = blocks(4, 1.2, 0.002)
    slower = [
        replace(
            each,
            race_id=each.race_id.replace("b", "c"),
            timestamp=each.timestamp + timedelta(minutes=5),
            user_tags={**each.user_tags, "variant": "c"},
            car_params={"heap": "4g"},
        )
        for each in blocks(4, 0.8, 0.002)[1]
    ]
    for record in (*baseline, *faster, *slower):
        store.create(record)
    return (*SIDES, "--contender=tag:variant=c")


def test_each_contender_is_compared_on_its_own(run, three):
    code, out, err = run("compare", *three, "--fail-on=worse")
    assert code == 3
    assert re.findall(r"^# (.+)$", out, re.MULTILINE) == [
        "Contender tag:variant=b",
        "Contender tag:variant=c",
    ]
    better, worse = re.findall(r"^## (better|worse)", out, re.MULTILINE)
    assert (better, worse) == ("better", "worse")
    assert "race.car_params.heap: 1g → 4g" in out
    (line,) = err.splitlines()
    assert "tag:variant=c: --fail-on: throughput:index-append is worse" in line
    assert run("compare", *SIDES, "--fail-on=worse")[0] == 0


def test_the_comparisons_are_wrong_together_as_seldom_as_one(run, three):
    def confidence(document):
        return {each["change"]["confidence"] for each in document["metrics"] if each["change"]}

    def alone(document):
        changes = [each["change"] for each in document["metrics"] if each["role"] == "primary"]
        return [change["alone"]["confidence"] for change in changes if change]

    document = json.loads(run("compare", *three, "--report-format=json")[1])
    assert [each["name"] for each in document["comparisons"]] == ["tag:variant=b", "tag:variant=c"]
    single = json.loads(run("compare", *SIDES, "--report-format=json")[1])
    for comparison in document["comparisons"]:
        assert min(confidence(comparison)) > min(confidence(single))
        assert "intervals and verdicts allow for 2 contenders" in comparison["notes"]
    assert document["format"] == single["format"]
    assert alone(document["comparisons"][0]) >= alone(single)


def test_every_format_names_the_contenders(run, three, tmp_path):
    table = run("compare", *three, "--report-format=csv")[1].splitlines()
    assert table[0].startswith("Contender races,Metric,Task,")
    assert {line.partition(",")[0] for line in table[1:]} == {"tag:variant=b", "tag:variant=c"}
    suites = ElementTree.fromstring(run("compare", *three, "--report-format=junit")[1])
    assert (suites.tag, suites.get("name")) == ("testsuites", "pacenote compare")
    assert [each.get("name") for each in suites] == ["tag:variant=b", "tag:variant=c"]
    out = run("compare", *three, f"--html={tmp_path}/page.html")[1]
    assert out.splitlines() == [f"{tmp_path}/page-1.html", f"{tmp_path}/page-2.html"]
    assert "4g" in (tmp_path / "page-2.html").read_text("utf-8")
    screen = run("compare", *three, "--report=short")[1]
    assert [line for line in screen.splitlines() if line.startswith(" Contender ")] == [
        *(" Contender tag:variant=b", " Contender tag:variant=c"),
    ]
    for line in (line for line in screen.splitlines() if line.startswith(" Next")):
        assert "--contender=tag:variant=b --contender=tag:variant=c" in line


def test_a_contender_that_is_given_twice_is_compared_once(run, races):
    assert run("compare", *SIDES, SIDES[1])[1] == run("compare", *SIDES)[1]
