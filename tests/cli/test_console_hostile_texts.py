"""Every text of every record and evidence file, through every output: none of them is obeyed there."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cli.test_gc import LOG
from pacenote.cli.console import Console
from pacenote.model.race_record import RaceRecord
from pacenote.model.recording import LockKind
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import ObservedHost
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.metrics_store import fake_store
from support.openj9_logs import LogPlan, Totals, generate
from support.recordings import SECOND, RecordingBuilder
from support.records import bulk, record
from track.builders import document

pytestmark = pytest.mark.process

MARK = "=cmd(1)\x1b]0;x\x07\x9b31m\x7f\u202e\u2066\u2028\x85\r\n::add-mask::x##VSO[x]<script>x</script>![x](http://x)|`"
"""Text that every output would obey in its own way. Without its controls, it is still recognised."""

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"##(?:vso|teamcity)?\[|^\s*::", re.IGNORECASE | re.MULTILINE)
"""What agents of continuous integration obey in a log."""

FORMULAS = (*"=+-@\t\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NUMBER = re.compile(r"[+-]?[\d.,]+(?:e[+-]?\d+)?(?: ?[%\w/]+)?|[+-]+")

PLAN = Path(__file__).parents[1] / "plan/golden/every-variant.json"

FORMS = tuple(f"--report-format={form}" for form in ("markdown", "csv", "json"))

Path_ = tuple[str | int, ...]


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yields the paths of all texts of a document."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))


def tables(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yields the paths of all objects of a document that are not empty."""
    if isinstance(value, dict | list):
        if value and isinstance(value, dict):
            yield path
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tables(item, (*path, key))


def at(value: Any, path: Path_) -> Any:
    for key in path:
        value = value[key]
    return value


def hostile(text: Any, parse: Callable[[Any], object], kept: tuple[str, ...] = ()) -> tuple[Any, int]:
    """Returns a document with the mark in every text, and as a key of every object, where `parse` accepts it,
    and the number of such places.
    """
    changed, count = copy.deepcopy(text), 0
    for path in [*leaves(text), *((*table, MARK) for table in tables(text))]:
        if path[-1] in kept:
            continue
        container, key = at(changed, path[:-1]), path[-1]
        before = dict(container) if isinstance(container, dict) else list(container)
        container[key] = MARK if key != MARK else next(iter(container.values()))
        try:
            parse(changed)
            count += 1
        except Exception:  # whatever a parser says
            if isinstance(container, dict):
                container.clear()
                container |= before
            else:
                container[:] = before
    return changed, count


@cache
def hostile_json(text: str, parse: Callable[[Any], object], kept: tuple[str, ...] = ()) -> tuple[str, int]:
    """Does this to a document in JSON; once, because many tests have the same documents."""
    changed, count = hostile(json.loads(text), parse, kept)
    return json.dumps(changed), count


def accept(_document: object) -> None:
    """Accepts every document."""


def check(text: str, form: str = "") -> None:
    """Checks that an output obeys no text."""
    assert OBEYED.search(text) is None, text[max(0, OBEYED.search(text).start() - 60) :][:160]  # type: ignore[union-attr]
    if form not in ("html", "terminal"):
        assert COMMAND.search(text) is None, text[max(0, COMMAND.search(text).start() - 60) :][:160]  # type: ignore[union-attr]
    if form.startswith("csv"):
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert cells
        formulas = [
            cell for cell in cells if cell.lstrip().startswith(FORMULAS) and not NUMBER.fullmatch(cell)
        ]
        assert formulas == []
    if form == "markdown":
        assert re.search(r"(?<!\\)<script|(?<!\\)\]\(http", text) is None
    if form == "html":
        assert "<script>x" not in text
        assert "onerror" not in text


def write_telemetry(folder: RaceFolder, begin_ns: int) -> None:
    """Writes ten seconds of series whose names, units, nodes and devices are the mark, and of known ones of a
    node and a device with such a name.
    """
    telemetry = RaceTelemetry(folder, ObservedHost((), (), (), {}))
    counters = ("indexing.index_total", "indexing.index_time", "merges.total_time", "docs.count")
    known = tuple(("node-counters", f"indices.{name}", "ms") for name in counters)
    telemetry.write([
        TelemetrySample(begin_ns + second * SECOND, source, name, float(second), unit, kind, {key: MARK})
        for second in range(10)
        for source, name, unit in ((MARK, MARK, MARK), ("node-counters", MARK, "ms"), *known)
        for kind in ("counter", "gauge")
        for key in ("node", MARK)
    ])
    assert telemetry.close(DriveResult((bulk(),), {"started_unix_ns": begin_ns})) == ({}, ())


@pytest.fixture
def races(home: Path, marked_races: Path) -> Path:
    """Two races with the mark wherever a record, a snapshot, a plan and telemetry accept it."""
    shutil.copytree(marked_races, home)
    return home


@pytest.fixture(scope="module")
def marked_races(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of these races, which are written once."""
    home = tmp_path_factory.mktemp("marked")
    begin_ns = time.time_ns()
    store = RaceStore(home)
    side = Snapshot({"sysctl.vm.swappiness": "60", "setting.a": "b", "node.n.jvm.flag.UseG1GC": "true"})
    for name in ("race-1", "race-2"):
        folder = store.create(record(name, tasks=(bulk(),), user_tags={"intention": "x", "name": name}))
        folder.write_snapshot(RaceSnapshot(side, side))
        changed, count = hostile_json(folder.race_json.read_text(), RaceRecord.from_document, ("race-id",))
        assert count > 45
        folder.race_json.write_text(changed)
        stored = folder.path / "snapshot.json"
        changed, count = hostile_json(stored.read_text(), RaceSnapshot.from_document)
        assert count > 5
        value, own = json.dumps(MARK), json.dumps(MARK + name)
        stored.write_text(changed.replace(f": {value}", f": {own}"))
        plan, count = hostile_json(PLAN.read_text(), accept)
        assert count > 45
        folder.plan_json.write_text(plan)
        write_telemetry(folder, begin_ns)
        logs = folder.path / "artifacts"
        logs.mkdir(exist_ok=True)
        (logs / "gc.log").write_text(LOG.replace("System.gc()", MARK.replace("\r\n", "")))
    # The id of a race of someone else differs from the name of its folder.
    foreign = json.loads(store.folder("race-2").race_json.read_text())
    foreign["race-id"] = MARK
    store.folder("race-2").race_json.write_text(json.dumps(foreign))
    return home


COMMANDS = [
    *(("report", "race-1", f"--report-format={form}") for form in ("markdown", "csv", "csv-full", "json")),
    ("report", "race-1", "--report=short"),
    ("report", "race-1", "--full"),
    ("report", "race-2", "--report-format=csv-full"),
    *(
        ("compare", "--baseline=race-1", "--contender=race-2", f"--report-format={form}")
        for form in ("markdown", "csv", "csv-full", "json")
    ),
    ("compare", "--baseline=race-1", "--contender=race-2", "--report=short"),
    *(("diff", "race-1", "race-2", f"--format={form}") for form in ("text", "json")),
    *(("list", "races", f"--format={form}") for form in ("text", "json")),
    *(("diagnose", "race-1", f"--report-format={form}") for form in ("markdown", "json")),
    ("diagnose", "race-1", "--report=short"),
    *(("export", "race-1", "race-2", f"--format={form}") for form in ("csv", "json", "openmetrics")),
    *(("trend", f"--track={MARK}", f"--report-format={form}") for form in ("csv", "json")),
    ("trend", f"--track={MARK}"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command).replace(MARK, "MARK"))
def test_no_text_of_a_race_is_obeyed(run, races, command):
    code, out, err = run(*command)
    check(out, command[-1].partition("format=")[2])
    check(err)
    assert (code, len(out) > 100) == (0, True), err


@pytest.mark.parametrize(
    "command",
    [
        ("report", "race-1"),
        ("report", "race-2"),
        ("compare", "--baseline=race-1", "--contender=race-2"),
        ("trend", f"--track={MARK}"),
    ],
    ids=" ".join,
)
def test_no_text_of_a_race_is_obeyed_in_its_page(run, races, tmp_path, command):
    code, _, err = run(*command, f"--html={tmp_path / 'page.html'}")
    assert code == 0, err
    check((tmp_path / "page.html").read_text(), "html")


def test_no_text_of_a_race_is_obeyed_in_junit(run, races):
    command = ("compare", "--baseline=race-1", "--contender=race-2", "--fail-on=worse")
    _, out, err = run(*command, "--report-format=junit")
    check(out)
    check(err)
    suites = ElementTree.fromstring(out)
    assert [element for element in suites.iter() if element.tag == "script"] == []
    assert list(suites.iter("testcase"))


def test_files_are_as_clean_as_the_terminal(run, races, tmp_path):
    for form in ("markdown", "csv", "csv-full", "json"):
        file = tmp_path / f"report.{form}"
        assert run("report", "race-1", f"--report-format={form}", f"--report-file={file}")[0] == 0
        check(file.read_text(), form)


@pytest.mark.parametrize("output", [*FORMS, "--folded=-", "--speedscope=-", "--flame-graph=page.html"])
def test_no_text_of_a_recording_is_obeyed(run, tmp_path, monkeypatch, output):
    builder = RecordingBuilder()
    builder.sample(MARK, builder.stack(f"{MARK}.a", MARK), 3)
    builder.allocate("outside_tlab", (MARK, MARK), builder.stack(MARK), 1, 1000)
    builder.wait(LockKind.PARK, MARK, builder.stack(MARK), [SECOND])

    class Reader:
        def __init__(self, paths):
            pass

        def recording(self, window_ns=None):
            return builder.build(None)

    monkeypatch.setattr("pacenote.cli.recordings.RecordingReader", Reader)
    monkeypatch.chdir(tmp_path)
    name = MARK.replace("/", "").replace("\r\n", "") + ".jfr"
    code, out, err = run("jfr", name, output)
    assert code == 0, err
    page = tmp_path / "page.html"
    check(
        page.read_text() if page.exists() else out,
        "html" if page.exists() else output.partition("format=")[2],
    )
    check(err)


def test_what_is_drawn_on_a_terminal_is_not_obeyed():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    console = Console(out=terminal).rich_results()
    table = Table(title=MARK)
    table.add_column(MARK)
    table.add_row(Text(MARK, style="bold red"))
    console.print(table, Panel(MARK, subtitle=MARK), Text(MARK), MARK)
    text = terminal.getvalue()
    assert "\x1b[1;31m" in text, "nothing is in colour"
    check(re.sub(r"\x1b\[[\d;]*m", "", text), "terminal")


@pytest.mark.parametrize("form", ["markdown", "csv", "json"])
def test_no_text_of_a_gc_log_is_obeyed(run, tmp_path, form):
    mark = MARK.replace("\r\n", "")
    for number, text in enumerate(("Using G1", "Evacuation Pause", "System.gc()", "Young", "gc,cpu")):
        assert text in LOG
        log = tmp_path / f"{'=x' * number}.log"
        log.write_text(LOG.replace(text, mark))
        _, out, err = run("gc", log, f"--report-format={form}")
        check(out, form if out else "")
        check(err)


@pytest.mark.parametrize("form", ["markdown", "csv", "json"])
def test_no_text_of_a_log_of_openj9_is_obeyed(run, tmp_path, form):
    plan = LogPlan(256, (20, 1_000_000, 2000), (2, 5_000_000, 3000), 1, 1000, Totals(10, 5.0, 1.0), 60, 0.5)
    text = "".join(generate(plan))
    mark = "=cmd(1)&#x9b;31m\x9b31m\u202e\u2066&lt;script&gt;x&lt;/script&gt;![x](http://x)|`"
    log = tmp_path / "verbosegc.log"
    for attribute in sorted(set(re.findall(r' ([\w-]+)="[^"]*[a-z][^"]*"', text))):
        log.write_text(re.sub(rf' {attribute}="[^"]*"', f' {attribute}="{mark}"', text))
        _, out, err = run("gc", log, f"--report-format={form}")
        check(out, form if out else "")
        check(err)


def test_no_text_of_a_track_is_obeyed(run, books):
    plain = document(description="d")
    changed, count = hostile(plain, lambda _: None)
    assert count > 10
    (books / "track.json").write_text(json.dumps(changed))
    for command in (
        *(("info",), ("validate-track",), ("render-track",)),
        ("list", "tracks"),
    ):
        _, out, err = run(*command, f"--track-path={books}")
        check(out)
        check(err)


def test_no_text_of_a_metrics_store_is_obeyed(run, home):
    with fake_store() as store:
        home.mkdir()
        lines = "".join(f"{key} = {value!r}\n" for key, value in store.reporting().items())
        (home / "pacenote.toml").write_text(f"[reporting]\n{lines}")
        RaceStore().create(record("race-1"))
        assert run("export", "race-1", "--to-store")[0] == 0
        for documents in store.indices.values():
            for key, stored in documents.items():
                documents[key], _ = hostile(
                    stored, lambda _: None, ("race-id", "race-timestamp", "environment")
                )
        for command in (("list", "races"), ("list", "races", "--format=json"), ("list", "annotations")):
            _, out, err = run(*command)
            check(out)
            check(err)


def test_no_text_of_an_experiment_is_obeyed(run, tmp_path):
    name = json.dumps(MARK.replace("\r\n", ""))
    file = tmp_path / "e.toml"
    file.write_text(
        f'question = {name}\n[race]\ntrack = "http_logs"\n[variants.{name}]\n[variants.b]\ncar = {name}\n'
    )
    for command in (("run", file, "--dry-run"), ("list",), ("run", file)):
        _, out, err = run("experiment", *command)
        check(out)
        check(err)
