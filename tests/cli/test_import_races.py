"""`pacenote import`, and the commands that use what it stores."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from importers.samples import PUBLISHED, SUMMARY, osb_document, race_document

OLD, NEW = "2716fc79", "b2836ba5"


@pytest.fixture
def published(tmp_path):
    path = tmp_path / "published.txt"
    path.write_text(f"A page about heap sizes.\n{PUBLISHED}The end.\n", "utf-8")
    return path


def test_a_published_comparison_of_races_with_errors_is_void(run, published):
    code, out, err = run("import", published)
    assert (code, len(out.splitlines())) == (0, 2)
    assert out.startswith(
        f"imported {OLD} (baseline, append-no-conflicts): void: index: 80.13 % of the operations"
    )
    assert f"compare --baseline={OLD} --contender={NEW}" in err
    code, out, _ = run("compare", f"--baseline={OLD}", f"--contender={NEW}", "--report-format=json")
    assert code == 0
    comparison = json.loads(out)
    assert (comparison["answer"], comparison["design"]) == ("void", "one race each")
    reasons = " ".join(finding["sentence"] for finding in comparison["findings"])
    for expected in (
        "80.13 % of the operations failed in the baseline, and 74.89 % in the contender (limit 1 %)",
        "one race each",
        "the store of the contender has another size (+12.1 %)",
        "do not state track, engine version, version of the tool, data, machines and settings",
    ):
        assert expected in reasons
    words = {
        (each["metric"]["label"], each["word"]) for each in comparison["metrics"] if each["role"] == "primary"
    }
    assert ("throughput-median:index", "void") in words
    assert ("p50-latency:range", "void") in words
    assert not any(label == "p50-latency:index" for label, _ in words)
    gate = run("compare", f"--baseline={OLD}", f"--contender={NEW}", "--fail-on=worse:primary")
    assert gate[0] == 3


def test_imported_races_are_listed_reported_compared_and_deleted_as_others(run, published):
    run("import", published, "--user-tags=from:web")
    _, out, _ = run("list", "races")
    assert f"{NEW}  " in out
    assert "115,730 docs/s" in out
    assert out.count("void") == 2
    code, out, _ = run("report", OLD, "--report-format=markdown")
    assert code == 0
    assert "- Imported: " in out
    assert "- Unknown: track, engine version, version of the tool" in out
    assert "Seed" not in out
    assert "- Verdict: void" in out
    assert "‡" in out
    code, out, _ = run("report", OLD, "--report=short")
    assert code == 0
    assert "Errors       80.13 %" in out
    code, out, _ = run("diff", OLD, NEW)
    assert "race.user_tags.jvm_memory_size" in out
    assert "1 fact differs" in out
    assert run("delete", "race", f"--id={OLD},{NEW}")[0] == 0
    assert run("list", "races")[1] == "No races found.\n"


def test_a_file_that_is_imported_again_is_noticed(run, published, tmp_path):
    run("import", published)
    code, out, _ = run("import", published)
    assert (code, out) == (0, f"already imported: {OLD} (baseline)\nalready imported: {NEW} (contender)\n")
    other = tmp_path / "other.txt"
    other.write_text(PUBLISHED.replace("100017", "100018"), "utf-8")
    code, out, err = run("import", other)
    assert (code, out) == (64, "")
    assert err.startswith(
        f"error: {other}: not imported: race {OLD} (baseline) was imported from another file, {published}, "
        "and 1 more race\n"
    )
    assert "delete race --id=ID" in err


def test_races_that_are_stored_already_need_no_writable_home(run, published, home):
    assert run("import", published)[0] == 0
    lock = home / ".import.lock"
    lock.unlink()
    # No user, not even root, can create a lock here.
    lock.mkdir()
    code, out, _ = run("import", published)
    assert (code, out.count("already imported: ")) == (0, 2)
    assert run("delete", "race", f"--id={NEW}")[0] == 0
    code, _, err = run("import", published)
    assert (code, ".import.lock" in err) == (64, True)


def test_a_race_that_pacenote_ran_is_not_replaced(run, tmp_path, home, published):
    from pacenote.store.race_store import RaceStore
    from support.records import record

    RaceStore(home).create(record("own"))
    path = tmp_path / "race.json"
    path.write_text(json.dumps(race_document(**{"race-id": "own"})), "utf-8")
    code, out, err = run("import", path, published)
    assert (code, len(out.splitlines())) == (64, 2)
    assert err.startswith(
        f"error: {path}: not imported: race own is in the store, and was run with Pacenote\n"
    )
    code, out, err = run("import", tmp_path)
    assert (code, out) == (64, "")


def test_the_ids_of_many_races_are_read_once(run, tmp_path, monkeypatch):
    from pacenote.store.race_index import RaceIndex

    calls, ids = [], RaceIndex.ids
    monkeypatch.setattr(RaceIndex, "ids", lambda self: calls.append(1) or ids(self))
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        document = race_document(**{"race-id": f"0f0e0d0c-1111-2222-3333-44445555666{number}"})
        (tmp_path / str(number) / "race.json").write_text(json.dumps(document), "utf-8")
    assert run("import", tmp_path)[0] == 0
    assert len(calls) == 1


def test_a_summary_without_an_id_gets_one_from_its_content(run, tmp_path):
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(SUMMARY, "utf-8")
    first, second = run("import", tmp_path / "a.md")[1], run("import", tmp_path / "b.md")[1]
    race_id = first.split()[1]
    assert "(geonames / append-no-conflicts): suspect" in first
    assert second == f"already imported: {race_id}\n"
    _, out, _ = run("report", race_id, "--report=short")
    assert "imported 20" in out
    assert "Race timestamp" not in run("report", race_id)[1]


def test_a_folder_of_races_is_imported_and_unfinished_ones_are_named(run, tmp_path):
    races = tmp_path / "benchmarks" / "races"
    for number in range(3):
        (races / str(number)).mkdir(parents=True)
        changes = {"race-id": f"race-{number}"} | ({"results": {}} if number == 1 else {})
        (races / str(number) / "race.json").write_text(json.dumps(race_document(**changes)), "utf-8")
    (races / "osb").mkdir()
    (races / "osb" / "test_execution.json").write_text(json.dumps(osb_document()), "utf-8")
    code, out, err = run("import", tmp_path)
    assert code == 0
    assert len(out.splitlines()) == 3
    assert f"{races / '1' / 'race.json'}: the race has no results" in err
    assert "1 file of 4 not imported" in err


def test_races_of_a_folder_share_a_reason_and_are_to_be_compared(run, tmp_path):
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        changes = {"race-id": f"race-{number}", "user-tags": {"heap": f"{number // 2 + 1}g"}}
        (tmp_path / str(number) / "race.json").write_text(json.dumps(race_document(**changes)), "utf-8")
    code, out, err = run("import", tmp_path)
    first, *others = out.splitlines()
    assert (code, "suspect: Rally did not record" in first) == (0, True)
    assert others == [
        f"imported race-{n} (geonames / append-no-conflicts): suspect, for the same reason as race-0"
        for n in (1, 2, 3)
    ]
    sides = ("--baseline=tag:heap=1g", "--contender=tag:heap=2g")
    assert f"compare them: pacenote compare {' '.join(sides)}" in err
    assert run("compare", *sides)[0] == 0
    # A file that is given twice is one race.
    hint = run("import", tmp_path / "0", tmp_path / "0" / "race.json")[2]
    assert hint == "show its report: pacenote report race-0\n"


def test_two_processes_import_the_same_files(tmp_path, home):
    for number in range(20):
        (tmp_path / str(number)).mkdir()
        changes = {"race-id": f"race-{number}"}
        (tmp_path / str(number) / "race.json").write_text(json.dumps(race_document(**changes)), "utf-8")
    command = [sys.executable, "-m", "pacenote", "import", str(tmp_path)]
    both = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PACENOTE_HOME": str(home)}
        )
        for _ in range(2)
    ]
    lines = [line for process in both for line in process.communicate(timeout=60)[0].splitlines()]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(line.startswith("imported ") for line in lines) == 20
    assert sum(line.startswith("already imported: ") for line in lines) == 20


def test_ids_that_begin_alike_can_be_compared(run, tmp_path):
    files = []
    for last in "ab":
        files.append(tmp_path / f"{last}.json")
        race_id = f"11111111-0000-4000-8000-00000000000{last}"
        files[-1].write_text(json.dumps(race_document(**{"race-id": race_id})), "utf-8")
    _, _, err = run("import", *files)
    _, _, command = err.partition("compare them: pacenote ")
    assert run(*command.split())[0] == 0


def test_an_id_that_cannot_be_kept_is_told(run, tmp_path):
    path = tmp_path / "race.json"
    path.write_text(json.dumps(race_document(**{"race-id": "../../evil"})), "utf-8")
    assert "the id '../../evil' cannot be kept)" in run("import", path)[1]


def test_a_comparison_with_one_side_is_not_to_be_compared(run, tmp_path):
    path = tmp_path / "semi.csv"
    path.write_text("Metric;Task;Baseline;Contender;Unit\nMean Throughput;a;1,5;;docs/s\n", "utf-8")
    code, _, err = run("import", path)
    assert (code, "compare them" in err, "show its report: pacenote report " in err) == (0, False, True)
    assert "left out: the table in line 1: the contender has no figure of a task" in err


def test_an_imported_race_without_a_time_is_not_the_latest_one(run, tmp_path, home):
    from pacenote.store.race_store import RaceStore
    from support.records import record

    (tmp_path / "a.md").write_text(SUMMARY, "utf-8")
    undated = run("import", tmp_path / "a.md")[1].split()[1]
    assert RaceStore(home).folder("latest").path.name.startswith(undated)
    RaceStore(home).create(record("own"))
    assert RaceStore(home).folder("latest").path.name == "own"


def test_races_of_two_tools_or_of_pacenote_are_not_comparable(run, tmp_path, home):
    from pacenote.store.race_store import RaceStore
    from support.records import record

    path = tmp_path / "race.json"
    path.write_text(json.dumps(race_document()), "utf-8")
    run("import", path)
    RaceStore(home).create(record("own"))
    code, out, _ = run("compare", "--baseline=own", "--contender=0f0e0d0c")
    assert code == 0
    assert "run with different tools or versions, which measure differently: Pacenote, Rally 2.7.1" in out
    assert out.startswith("# void")


def test_a_foreign_file_is_one_line_that_says_what_is_expected(run, tmp_path):
    path = tmp_path / "file"
    path.write_text("hello", "utf-8")
    code, out, err = run("import", path)
    assert (code, out) == (64, "")
    assert err.startswith(f"error: {path}: no summary or comparison of Rally or OpenSearch Benchmark found")
    assert "hint: expected a table with the columns" in err


def test_files_that_cannot_be_read_do_not_prevent_the_others(run, tmp_path, published):
    empty = tmp_path / "empty"
    empty.mkdir()
    code, out, err = run("import", tmp_path / "none", empty, published)
    assert code == 64
    assert len(out.splitlines()) == 2
    assert f"error: {tmp_path / 'none'} does not exist" in err
    assert f"error: {empty} has no race" in err


def test_a_recall_of_another_tool_that_falls_is_said_first(run, tmp_path):
    for number in range(10):
        is_new = number % 4 in (1, 2)
        own = osb_document(**{
            "test-execution-id": f"race-{number}",
            "user-tags": {"ef": "low" if is_new else "high"},
        })
        own["test-execution-timestamp"] = f"202405{number + 1:02}T101112Z"
        (task,) = own["results"]["op_metrics"]
        task["service_time"] = {"50_0": (1.3 if is_new else 2.0) + number / 1000, "unit": "ms"}
        task["latency"] = task["service_time"]
        task["throughput"] |= {"mean": (3.0 if is_new else 2.0) + number / 1000}
        (recall,) = own["results"]["correctness_metrics"]
        recall["recall@k"] = {"mean": 0.56 if is_new else 0.93}
        (tmp_path / f"{number}.json").write_text(json.dumps(own), "utf-8")
    assert run("import", *sorted(tmp_path.glob("*.json")))[0] == 0
    sides = ("--baseline=tag:ef=high", "--contender=tag:ef=low")
    code, out, err = run("compare", *sides, "--report=short", "--fail-on=worse")
    assert out.startswith(" MIXED  Mean recall@k of knn -39.8 %")
    assert (code, err) == (3, "warning: --fail-on: recall@k:knn is worse\n")
    neutral = run("compare", *sides, "--report=short", "--quality=recall@k:knn=neutral")[1]
    assert neutral.startswith(" BETTER  throughput of term")
    assert "Mean recall@k of knn changed: 0.93 → 0.56" in " ".join(neutral.split())
    assert "--quality=recall@k:knn=neutral" in neutral
    for wrong in ("recall", "recall=up", "=higher", ",", "recal@k=higher", "recall@k:term=higher"):
        code, _, err = run("compare", *sides, f"--quality={wrong}")
        assert (code, "--quality" in err) == (2, True)


@pytest.mark.parametrize("taken", ["{", "", "[]", None, "link", "file"])
def test_a_race_in_the_way_that_cannot_be_read_does_not_prevent_the_others(run, tmp_path, home, taken):
    """Its file is damaged or missing, or it is not the folder of a race."""
    files = tmp_path / "files"
    ids = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(3)]
    for race_id in ids:
        (files / race_id).mkdir(parents=True)
        (files / race_id / "race.json").write_text(
            json.dumps(race_document() | {"race-id": race_id}), "utf-8"
        )
    races = home / "races"
    races.mkdir(parents=True)
    if taken == "link":
        (races / ids[1]).symlink_to(tmp_path / "none")
    elif taken == "file":
        (races / ids[1]).touch()
    else:
        (races / ids[1]).mkdir()
        if taken is not None:
            (races / ids[1] / "race.json").write_text(taken)
    code, out, err = run("import", files)
    assert code == 0
    assert out.count("imported ") == 2
    assert "00000000-0000-4000-8000-000000000001 is in the store, and cannot be read:" in err
    assert "1 file of 3 not imported" in err
    assert run("import", files / ids[1] / "race.json")[0] == 64
    assert (races / ids[2] / "race.json").is_file()
