"""`pacenote trend`: which races it takes, formats, gates and errors."""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from compare.races import race
from compare.test_trend import nights, step
from pacenote.cli.trend import trend_page
from pacenote.model.finding import Finding
from pacenote.model.race_record import RecordedTrack, Verdict
from pacenote.store.race_store import RaceStore


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A home with a track that indexes 20 % slower from its seventh race on, and races that are left out."""
    store = RaceStore(tmp_path_factory.mktemp("home"))
    own = nights(9, rate=step(6, 0.8))
    for night, record in enumerate(own):
        store.create(replace(record, user_tags={"nightly": "yes", "night": night}))
    earlier = own[-1].timestamp - timedelta(hours=1)
    void = Verdict("void", (Finding("bad"),))
    tags = {"experiment": "heap", "variant": "a", "block": 1}
    for name, changes in (
        ("void", {"verdict": void}),
        ("stopped", {"complete": False, "interrupted": True}),
        ("designed", {"user_tags": tags}),
    ):
        store.create(replace(race(name), timestamp=earlier, **changes))
    store.create(replace(race("g1"), track=RecordedTrack("geonames")))
    for name, text in (("broken", "{"), ("newer", '{"format": 99}')):
        (store.races / name).mkdir()
        (store.races / name / "race.json").write_text(text)
        before = (earlier - timedelta(days=30)).timestamp()
        os.utime(store.races / name / "race.json", (before, before))
    return store


@pytest.fixture
def races(stored, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(stored.home))


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_races_like_the_newest_one_are_taken_and_the_others_are_named(run, races):
    code, out, err = run("trend", "--fail-on=regression")
    assert (code, err) == (3, "warning: --fail-on: throughput:index-append is worse\n")
    lines = out.splitlines()
    assert lines[0].startswith(" REGRESSION  throughput of index-append -")
    text = words(out)
    for part in (
        "yes: 1 of 2 metrics became worse, found within the newest 9 races",
        "9 races, 2026-03-01 to 2026-03-09; opensearch 3.3.0, car defaults",
        "1 race is void: void",
        "1 race did not finish: stopped",
        "1 race is of experiments, whose order is part of their design: designed",
        "2 races cannot be read: broken, newer",
        "1 race is of another track, challenge, car or engine: geonames / append-no-conflicts",
        "Between 2026-03-06 12:30 (n05) and 2026-03-07 12:30 (n06)",
        "pacenote diff n05 n06",
        "pacenote diagnose n06 n05",
        "pacenote trend accept --reason=WHY",
    ):
        assert part in text
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    "options",
    [
        ("--fail-on=regression", "--since=20260310"),
        ("--fail-on=drift",),
        ("--fail-on=regression", "--metrics=p50"),
    ],
)
def test_what_is_not_asked_for_does_not_fail(run, races, options):
    assert run("trend", *options)[::2] == (0, "")


@pytest.mark.parametrize(
    ("gate", "fails"),
    [("regression", True), ("probably-worse", True), ("worse", False), ("drift,worse", False)],
)
def test_a_gate_fails_on_what_the_answer_calls_a_regression(run, races, gate, fails):
    """With this smallest effect, the interval is not beyond what matters."""
    code, out, err = run("trend", "--smallest-effect=22", f"--fail-on={gate}")
    assert out.startswith(" REGRESSION")
    assert "probably worse" in out
    warning = "warning: --fail-on: throughput:index-append is probably worse\n"
    assert (code, err) == ((3, warning) if fails else (0, ""))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--last=6",), slice(3, 9)),
        (("--user-tags=nightly:yes", "--from-date=20260302", "--to-date=20260304"), slice(1, 4)),
        (("tag:nightly=yes", "--last=4"), slice(5, 9)),
        (("n03", "n01", "n02"), slice(1, 4)),
    ],
)
def test_races_are_selected_by_options_or_named(run, races, options, wanted):
    code, out, err = run("trend", "--report-format=json", *options)
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert [each["race_id"] for each in document["races"]] == [f"n{night:02}" for night in range(9)][wanted]
    older = "3 older races: --last includes more of them"
    assert (older in document["left_out"]) == (options == ("--last=6",))


OLDER, NEWER = timedelta(days=-20), timedelta(days=20)


@pytest.mark.parametrize(("track", "age"), [("http_logs", NEWER), ("geonames", NEWER), ("http_logs", OLDER)])
@pytest.mark.parametrize("cut", ["early", "half", "late"])
@pytest.mark.parametrize("selection", [(), ("FOLDER",)])
def test_a_newest_race_that_is_cut_off_fails_the_gate_of_its_track(run, track, age, cut, selection):
    """Also if a tag or an option in it is named like a key of the record."""
    store = RaceStore()
    for record in nights(10):
        store.create(record)
    other = "geonames" if track == "http_logs" else "http_logs"
    own = race("zz")
    stored = replace(
        own,
        timestamp=own.timestamp + age,
        track=RecordedTrack(track),
        user_tags={"track": other, "@timestamp": 1},
    )
    path = store.create(stored).race_json
    text = path.read_text()
    path.write_text(text[: {"early": text.index('"race-id"'), "half": len(text) // 2, "late": -3}[cut]])
    races = [str(store.races)] if selection else []
    exit_code, out, err = run("trend", *races, "--fail-on=regression")
    fails = track == "http_logs" and age == NEWER
    assert exit_code == (3 if fails else 0)
    if fails:
        assert "--fail-on: the newest race cannot be read: zz; the file is damaged: restore it" in err
        assert out.startswith(" NEWEST RACES CANNOT BE USED")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('{"race_id"', "the file is damaged: restore it from a copy, or delete the race"),
        ('{"format": 99}', "use the version of Pacenote that wrote it, or a newer one"),
        ('{"format": 2}', "repair or delete the folder"),
    ],
)
def test_the_advice_about_a_newest_race_is_that_for_its_file(run, home, text, advice):
    """A race of a newer format is sound: it must not be deleted."""
    store = RaceStore(home)
    for record in nights(10):
        store.create(record)
    (store.races / "zz").mkdir()
    path = store.races / "zz" / "race.json"
    path.write_text(text)
    after = (race("zz").timestamp + NEWER).timestamp()
    os.utime(path, (after, after))
    code, _, err = run("trend", "--fail-on=regression")
    assert (code, err) == (3, f"warning: --fail-on: the newest race cannot be read: zz; {advice}\n")


def test_a_newest_race_that_is_too_old_fails(run, races):
    code, out, err = run("trend", "--metrics=p50", "--fail-on=regression", "--max-age=36h")
    assert code == 3
    assert re.fullmatch(
        r"warning: --fail-on: the newest race is of 2026-03-09 12:30 \(n08\), "
        r"and one since \S+ \S+ is missing\n",
        err,
    )
    assert out.startswith(" NEWEST RACES CANNOT BE USED")
    assert run("trend", "--metrics=p50", "--fail-on=regression", "--max-age=100000h")[::2] == (0, "")
    assert run("trend", "--max-age=36h")[0] == 0


def test_too_few_races_say_what_is_needed_and_cannot_fail(run, races):
    code, out, err = run("trend", "--track=geonames", "--fail-on=regression")
    assert code == 0
    assert err == "warning: --fail-on cannot fail yet: 1 race: 6 are needed to find a change\n"
    assert out.startswith(" TOO FEW RACES")


@pytest.mark.parametrize(
    ("name", "start"), [("json", '{\n  "format": 2'), ("csv", "Race,Time,"), ("text", " REGRESSION")]
)
def test_a_file_gets_its_format_and_the_terminal_the_text(run, races, tmp_path, name, start):
    file = tmp_path / "trend"
    code, out, _ = run("trend", f"--report-format={name}", f"--report-file={file}")
    assert (code, out.startswith(" REGRESSION")) == (0, True)
    assert file.read_text().startswith(start)


def test_a_page_is_written_and_named(run, races, tmp_path):
    file = tmp_path / "new" / "trend.html"
    code, out, err = run("trend", f"--html={file}", "--fail-on=regression")
    assert (code, out) == (3, f"{file}\n")
    assert "is worse" in err
    text = file.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "throughput of index-append" in text


def test_a_page_shows_the_races_like_a_given_one(stored):
    of_http_logs, of_geonames = (trend_page(stored, name) for name in ("n01", "g1"))
    for name in ("n00", "n08"):
        assert name in of_http_logs
        assert name not in of_geonames
    assert "geonames" in of_geonames
    assert "geonames" not in of_http_logs


def test_a_page_and_a_file_are_both_written(run, races, tmp_path):
    page, file = tmp_path / "trend.html", tmp_path / "trend.json"
    code, out, _ = run("trend", f"--html={page}", "--report-format=json", f"--report-file={file}")
    assert (code, out) == (0, f"{page}\n")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(file.read_text())["answer"] == "regression"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--track=nyc_taxis",), "no race in"),
        (("n01", "--track=http_logs"), "--track does not select among races that are named"),
        (("--fail-on=better",), "--fail-on cannot be 'better'"),
        (("--html", "--report-format=json"), "--report-format needs --report-file"),
        (("--metrics=p98:term",), "the races have no metric 'p98:term'"),
        (("--metrics=,",), "no metric is named"),
        (("--since=yesterday",), "'yesterday' is not a date"),
        (("--smallest-effect=0",), "--smallest-effect"),
        (("void",), "no race can be used for a trend"),
        (("broken",), "broken"),
    ],
)
def test_wrong_options_are_explained(run, races, arguments, message):
    code, out, err = run("trend", *arguments)
    assert (code in (2, 64), out) == (True, "")
    assert message in err
    assert "hint: " in err


def test_an_empty_store_is_explained(run):
    code, _, err = run("trend")
    assert code == 64
    assert "no race" in err
