"""The HTML of the page of a race: nothing of a track or an engine becomes markup; tables need no script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

from msgspec.structs import replace

from pacenote.model.diagnosis import Diagnosis, RuleAnswer
from pacenote.model.failure_group import FailureGroup
from pacenote.model.race_record import RecordedCluster, RecordedTrack, Verdict
from pacenote.model.race_timeline import GcPause
from pacenote.model.recording import LockKind
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.report.page.race.build import PageSources
from pacenote.report.recording.flame_frames import MOST_FRAMES
from pacenote.report.recording.hot_methods import NodeProfile, node_profile
from pacenote.report.render.page import MAX_BYTES
from pacenote.report.render.race_page import render_race_page
from pacenote.report.screen.build import RaceLocation
from report.page.race.observed import arrivals, cpus, line, observed, pause, telemetry, timeline
from report.render.test_flame_graph import HOSTILE, Page
from support.recordings import RecordingBuilder
from support.records import bulk, paced, record, task

LOCATION = RaceLocation("~/races/race-1", "race-1", "complete")


def sources(**changes) -> PageSources:
    """Returns a race with three tasks, of which everything was observed."""
    tasks = (
        bulk(duration_s=20.0, started_s=0.0),
        paced(duration_s=20.0, started_s=20.0),
        task(duration_s=20.0, started_s=25.0),
    )
    stalled = line([*[50] * 8, 0, 0, *[50] * 10])
    seen = observed(
        timeline(**{"index-append": line([50] * 20), "term": stalled, "search": line([50] * 20)}),
        arrivals={"term": arrivals([50] * 20, [49] * 20)},
        telemetry=cpus([0.5] * 46),
        pauses=(pause(28.2, 900.0),),
        has_gc_log=True,
    )
    snapshot = RaceSnapshot(Snapshot({"setting.a": "1"}))
    race = record(tasks=tasks, verdict=Verdict("valid"))
    return replace(
        PageSources(race, LOCATION, seen, snapshot, command="pacenote race --track=geonames"), **changes
    )


def hostile() -> PageSources:
    """Returns a race in which all names and messages are markup."""
    failure = FailureGroup("http-status", HOSTILE, 500, 3, 1.0, 2.0)
    tasks = (task(HOSTILE, duration_s=20.0, unit=HOSTILE, errors=(failure,)),)
    race = record(
        tasks=tasks,
        track=RecordedTrack(HOSTILE),
        challenge=HOSTILE,
        user_tags={HOSTILE: HOSTILE},
        cluster=RecordedCluster(HOSTILE, HOSTILE, nodes=({"name": HOSTILE, "host": HOSTILE},)),
    )
    fired = RuleAnswer(id="X", title=HOSTILE, state="fired", text=HOSTILE, tasks=(HOSTILE,))
    return PageSources(
        race,
        LOCATION,
        observed(
            timeline(**{HOSTILE: line([50] * 20)}),
            telemetry=(
                *cpus([0.5] * 21),
                telemetry("disk.read_bytes", [1.0] * 21, unit=HOSTILE, labels={"device": HOSTILE}),
                telemetry("process.user", [1.0] * 21, labels={"process": HOSTILE}),
            ),
            pauses=(GcPause(3.0, 1.0, HOSTILE),),
            missing=(HOSTILE,),
        ),
        RaceSnapshot(Snapshot({f"setting.{HOSTILE}": HOSTILE})),
        Diagnosis(races=("race-1",), findings=(fired,)),
        command=HOSTILE,
        command_notes=(HOSTILE,),
        profiles=(hostile_profile(HOSTILE), NodeProfile(HOSTILE, problem=HOSTILE)),
    )


def hostile_profile(name: str, methods: int = 3) -> NodeProfile:
    """Returns the profile of a node whose methods, classes and threads have these names."""
    made = RecordingBuilder()
    for number in range(methods):
        stack = made.stack(*(f"{name}{number}-{depth}" for depth in range(methods)))
        made.sample(name, stack, 1)
        made.allocate("outside_tlab", (name, name), stack, 1, 10)
        made.wait(LockKind.MONITOR_ENTER, name, stack, [10])
    return node_profile(name, made.build(problems=(name,)))


def test_names_and_messages_never_become_markup():
    text = render_race_page(hostile())
    plain = render_race_page(sources())
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 2
    drawn = {"svg", "rect", "text", "title"}
    assert set(tags) <= {tag for tag, _ in Page(plain).elements} | {"p", "details"} | drawn
    assert "\x1b" not in text
    text.encode()
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text
    document = json.loads(page.texts["script"][0])
    assert document["axis"]["bands"][0][0].endswith("@@DATA@@&\"'")


def test_the_page_runs_only_its_own_script_and_loads_nothing():
    page = Page(render_race_page(sources()))
    (policy,) = [found["content"] for tag, found in page.elements if "http-equiv" in found]
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(page.texts[element][-1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not any({"src", "style", "onclick"} & found.keys() for _, found in page.elements)
    links = [found["href"] for _, found in page.elements if "href" in found]
    ids = {found["id"] for _, found in page.elements if "id" in found}
    assert links
    assert {link.removeprefix("#") for link in links} <= ids
    assert not re.search(
        r"url\(|@import|fetch\(|XMLHttpRequest", page.texts["style"][-1] + page.texts["script"][-1]
    )


def test_every_chart_has_a_table_without_a_script():
    page = Page(render_race_page(sources()))
    document = json.loads(page.texts["script"][0])
    tables = {found.get("id") for tag, found in page.elements if tag == "table"}
    charts = document["charts"] + document["heat"] + document["curves"]
    assert len(charts) >= 7
    assert {chart["table"] for chart in charts} <= tables


def test_a_page_that_would_be_too_large_has_fewer_settings():
    facts = {f"setting.fact_{number:05}": "<" * 100 for number in range(5_000)}
    text = render_race_page(sources(snapshot=RaceSnapshot(Snapshot(facts))))
    assert len(text.encode()) <= MAX_BYTES
    assert "further facts" in text


def test_the_hottest_methods_have_a_bounded_part_of_the_page():
    plain = len(render_race_page(sources()).encode())
    usual = "org.apache.lucene.index.DocumentsWriterPerThread.updateDocuments"
    text = render_race_page(sources(profiles=(hostile_profile(usual, 60),)))
    assert len(text.encode()) - plain < 110_000
    assert "Hottest methods</h2>" in text
    rects = sum(tag == "rect" for tag, _ in Page(text).elements)
    assert 100 < rects <= MOST_FRAMES + 10
    # Names of recordings may be as long as a page.
    profiles = tuple(hostile_profile("é\u00ad<" * 500, 60) for _ in range(4))
    text = render_race_page(sources(profiles=profiles))
    assert len(text.encode()) <= MAX_BYTES
    assert "Hottest methods</h2>" in text
    assert "Hottest methods</h2>" not in render_race_page(sources())


def test_the_copy_of_uplot_is_the_released_one_and_its_licence_is_in_every_page():
    folder = files("pacenote.report.render") / "uplot"
    head, *sums = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    assert len(sums) == 3
    for digest, name in (each.split() for each in sums):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    text = render_race_page(sources())
    version = head.split()[2].rstrip(",")
    assert f"uPlot (v{version})" in text
    assert (folder / "LICENSE").read_text("utf-8").strip() in text
