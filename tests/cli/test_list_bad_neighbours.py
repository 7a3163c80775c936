"""A race folder that is damaged or hostile is one odd row of a list, and hides no other race."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.store.race_store import RaceStore
from support.records import BEGAN, bulk, record

pytestmark = pytest.mark.process

_NAMES = [f"good-{number}" for number in range(6)]


def _changed(**changes: object) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        document = json.loads((folder.parent / _NAMES[0] / "race.json").read_text())
        document |= {name.replace("_", "-"): value for name, value in changes.items()}
        (folder / "race.json").write_text(json.dumps(document))

    return write


def _encoded(name: str, encoding: str, **changes: object) -> Callable[[Path], object]:
    """Returns what writes a copy of a good race in another encoding, with numbers and texts that checks of
    bytes do not find in it.
    """

    def write(folder: Path) -> None:
        _changed(race_id=name, **changes)(folder)
        text = (folder / "race.json").read_text()
        (folder / "race.json").write_bytes(text.encode(encoding))

    return write


def _raw_surrogate(folder: Path) -> None:
    _changed(race_id="raw-surrogate", track="tr-XX", challenge="XX", user_tags={"XX": "XX"})(folder)
    text = (folder / "race.json").read_bytes()
    (folder / "race.json").write_bytes(text.replace(b"XX", b"\xed\xa0\x80"))


_HALF_PAIRS = {"track": "\ud800", "challenge": "\udc00", "user_tags": {"\ud800": "\udfff"}}

_NEIGHBOURS: dict[str, Callable[[Path], object]] = {
    "year-1": _changed(race_id="year-1", race_timestamp="00010101T000000Z"),
    "year-9999": _changed(race_id="year-9999", race_timestamp="99991231T235959Z"),
    "overflow": _changed(race_id="overflow", race_timestamp="99999999T999999Z"),
    "no-zone": _changed(race_id="no-zone", race_timestamp="20260301T123015"),
    "surrogate": _changed(
        race_id="sur\ud800", track="\udc00", car=["\ud800"], user_tags={"\ud800": "\udfff"}
    ),
    "raw-surrogate": _raw_surrogate,
    "utf-16": _encoded("utf-16", "utf-16-le", **_HALF_PAIRS),
    "utf-16-digits": _encoded("utf-16-digits", "utf-16-be", user_tags={"a": 10**4000}),
    "utf-32": _encoded("utf-32", "utf-32", **_HALF_PAIRS),
    "utf-32-digits": _encoded("utf-32-digits", "utf-32-le", user_tags={"a": 10**4000}),
    "mark": _encoded("mark", "utf-8-sig", **_HALF_PAIRS),
    "controls": _changed(
        race_id="a\0\x1b[31m\u202e", track="\0\x1b[31m\r\n", challenge="\u2028", car=["\x9b"]
    ),
    "odd-tags": _changed(race_id="odd-tags", user_tags={"a": [{"b": 2}], "c": 10**30, "d": None}),
    "deep": lambda folder: (folder / "race.json").write_text('{"a":[' * 5_000),
    "digits": lambda folder: (folder / "race.json").write_text(f'{{"seed":{"9" * 10_000}}}'),
    "long-name": _changed(race_id="long-name", unreported=["A" * 400_000]),
    "binary": lambda folder: (folder / "race.json").write_bytes(bytes(range(256))),
    "huge": lambda folder: ((folder / "race.json").touch(), os.truncate(folder / "race.json", 1 << 36)),
    "pipe": lambda folder: os.mkfifo(folder / "race.json"),
    "device": lambda folder: (folder / "race.json").symlink_to("/dev/zero"),
    "loop": lambda folder: (folder / "race.json").symlink_to("race.json"),
    "folder": lambda folder: (folder / "race.json").mkdir(),
    "snapshot": lambda folder: (_changed(race_id="snapshot")(folder), os.mkfifo(folder / "snapshot.json")),
    "plan": lambda folder: (
        _changed(race_id="plan")(folder),
        (folder / "plan.json").write_text("[" * 5_000),
    ),
}


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a home with six good races and all bad neighbours."""
    home = tmp_path_factory.mktemp("filled")
    store = RaceStore(home)
    for day, name in enumerate(_NAMES, 1):
        good = record(name, timestamp=BEGAN.replace(day=day), tasks=(bulk(),))
        store.create(good).finish(good)
    for name, plant in _NEIGHBOURS.items():
        folder = store.races / name
        folder.mkdir()
        plant(folder)
    (store.races / "link-to-itself").symlink_to("link-to-itself")
    os.mkfifo(store.races / "a-pipe")
    (store.races / "a-file").write_text("x")
    os.mkdir(os.fsencode(store.races) + b"/\xff\x1b[31m")  # noqa: PTH102  # not a text
    return home


@pytest.mark.parametrize(
    "command",
    [
        ["list", "races", "--limit=100"],
        ["list", "races", "--limit=100", "--format=json"],
        ["list", "races", "--from=20260101", "--to=20271231", "--limit=100"],
        ["list", "races", "--user-tags=intention:baseline"],
        ["trend"],
        ["trend", "{races}"],
        ["trend", "tag:intention=baseline"],
        ["export", "{races}"],
        ["export", "{races}", "--format=csv"],
        ["export", "tag:intention=baseline", "--format=openmetrics"],
        ["report", "latest"],
        ["compare", "--baseline=good-0,good-1", "--contender=good-2,good-3"],
        ["compare", "--baseline=good-0", "--contender=controls"],
        ["diff", "good-0", "surrogate"],
        ["diff", "good-0", "mark"],
        ["report", "surrogate"],
        ["report", "controls"],
    ],
)
def test_lists_show_the_good_races(
    run, monkeypatch: pytest.MonkeyPatch, filled_home: Path, command: list[str]
) -> None:
    monkeypatch.setenv("PACENOTE_HOME", str(filled_home))
    code, out, err = run(*(word.format(races=filled_home / "races") for word in command))
    assert "bug in Pacenote" not in err
    assert code == 0, err
    if command[0] in ("list", "export"):
        assert all(name in out for name in _NAMES)
    # Every message is one line, and nothing reaches the terminal as it is.
    assert all(line.startswith(("warning: ", "hint: ")) for line in err.splitlines())
    assert not {"\x1b", "\0", "\x9b", "\u202e", "\u2028"} & set(err)
    if "--format" not in " ".join(command):
        assert not {"\x1b", "\0", "\x9b", "\u202e"} & set(out)


@pytest.mark.parametrize(("command", "plan"), [("experiment", "plan.json"), ("tune", "tune.json")])
def test_experiments_and_searches_that_cannot_be_read_are_odd_rows(
    run, home: Path, command: str, plan: str
) -> None:
    experiments = home / "experiments"
    experiments.mkdir(parents=True)
    plants: dict[str, Callable[[Path], object]] = {
        "deep": lambda path: path.write_text('{"a":[' * 5_000),
        "binary": lambda path: path.write_bytes(bytes(range(256))),
        "number": lambda path: path.write_text(f'{{"format":{"9" * 10_000}}}'),
        "infinite": lambda path: path.write_text('{"format":1e999}'),
        "surrogate": lambda path: path.write_text('{"format":1,"created":"\\ud800"}'),
        "list": lambda path: path.write_text("[]"),
        "huge": lambda path: (path.touch(), os.truncate(path, 1 << 36)),
    }
    for name, plant in plants.items():
        (experiments / name).mkdir()
        plant(experiments / name / plan)
    (experiments / "loop").symlink_to("loop")
    os.mkfifo(experiments / "pipe")
    code, out, err = run(command, "list")
    assert (code, err) == (0, "")
    rows = {line.split()[0]: line.split()[-1] for line in out.splitlines()[2:]}
    assert rows == dict.fromkeys(plants, "unreadable")
