"""What the code of a track logs is kept, and its warnings are shown."""

import logging
import os

from pacenote.plugins import track_log as module
from pacenote.plugins.track_log import MAX_WARNINGS, track_log
from pacenote.store.redacted_file import redact_file

LOGGER = logging.getLogger("tour.track")


def lines(path):
    """Returns the records in a file, without their time and process."""
    return [line.split(" ", 3)[3] for line in path.read_text("utf-8").splitlines() if "PID:" in line]


def test_records_are_in_the_file_without_secrets_whenever_they_were_logged(tmp_path):
    shown = []
    with track_log(shown.append) as log:
        LOGGER.info("early %s", "hunter2")
        LOGGER.debug("not as detailed")
        child = os.fork()
        if child == 0:
            LOGGER.info("forked")
            os._exit(0)
        os.waitpid(child, 0)
        log.write_to(tmp_path / "artifacts" / "track.log", frozenset({"hunter2"}))
        LOGGER.warning("late hunter2\nand more")
        # Not by the logger: pytest's handler raises.
        log.handle(logging.LogRecord("tour.track", logging.INFO, "f", 1, "%d", ("no number",), None))
        logging.getLogger("elastic_transport.node_pool").warning("node failed")
    LOGGER.warning("after the block")
    assert lines(tmp_path / "artifacts" / "track.log")[:3] == [
        "tour.track INFO early <hidden>",
        "tour.track INFO forked",
        "tour.track WARNING late <hidden>",
    ]
    text = (tmp_path / "artifacts" / "track.log").read_text("utf-8")
    assert text.endswith("\nand more\ntour.track INFO '%d'\n")
    assert shown == ["the track's code logged WARNING: tour.track: late <hidden>"]
    assert (tmp_path / "artifacts" / "track.log").stat().st_mode & 0o777 == 0o600


def test_only_the_first_warnings_are_shown(tmp_path):
    shown = []
    with track_log(shown.append) as log:
        log.write_to(tmp_path / "track.log", ())
        for number in range(MAX_WARNINGS + 5):
            LOGGER.error("number %d", number)
    assert len(shown) == MAX_WARNINGS
    assert shown[-1].endswith("(the last one shown here; track.log in the race folder has all)")
    assert len(lines(tmp_path / "track.log")) == MAX_WARNINGS + 5


def test_a_full_log_states_how_many_records_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1_000)
    with track_log(lambda _: None) as log:
        log.write_to(tmp_path / "track.log", ())
        for _ in range(10):
            LOGGER.info("x" * 400)
    text = (tmp_path / "track.log").read_text("utf-8")
    assert len(text) < 1_100
    assert text.endswith("\n8 records left out: the file is full\n")


def test_a_track_that_logs_nothing_has_no_file(tmp_path):
    with track_log(lambda _: None) as log:
        log.write_to(tmp_path / "track.log", ())
    assert list(tmp_path.iterdir()) == []


def test_levels_and_handlers_are_restored():
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("elastic_transport").level)
    with track_log(lambda _: None):
        assert root.level == logging.INFO
    assert (root.level, list(root.handlers), logging.getLogger("elastic_transport").level) == before


def test_a_file_that_cannot_be_written_is_one_warning(tmp_path):
    shown = []
    (tmp_path / "file").touch()
    with track_log(shown.append) as log:
        log.write_to(tmp_path / "file" / "track.log", ())
        LOGGER.info("one")
        LOGGER.info("two")
    assert shown == ["what the track's code logs is not stored: File exists"]


class Textless:
    """An object of a track that has no text."""

    def __repr__(self):
        raise ValueError("no text")


def test_an_object_without_text_does_not_fail_the_code_that_logs_it(tmp_path):
    shown = []
    with track_log(shown.append) as log:
        log.write_to(tmp_path / "track.log", ())
        log.handle(logging.LogRecord("tour.track", logging.WARNING, "f", 1, Textless(), (), None))
    assert (tmp_path / "track.log").read_text("utf-8") == "tour.track WARNING a Textless\n"
    assert shown == ["the track's code logged WARNING: tour.track: a Textless"]


def test_a_record_is_cut_off_after_its_secrets_are_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MAX_RECORD_CHARS", 100)
    monkeypatch.setattr(module, "_MAX_WARNING_CHARS", 50)
    shown = []
    with track_log(shown.append) as log:
        log.write_to(tmp_path / "track.log", frozenset({"hunter2 and more"}))
        for number in range(40, 100):
            LOGGER.warning("%s", "x" * number + "hunter2 and more")
    assert not any("hun" in text for text in shown)
    assert "hun" not in (tmp_path / "track.log").read_text("utf-8")


def test_early_records_are_kept_although_hidden_secrets_are_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1_000)
    with track_log(lambda _: None) as log:
        for _ in range(30):
            LOGGER.info("ab12")
        log.write_to(tmp_path / "track.log", frozenset({"ab12"}))
    *kept, last = (tmp_path / "track.log").read_text("utf-8").splitlines()
    assert len(kept) > 15
    assert all(line.endswith("INFO <hidden>") for line in kept)
    assert last.endswith(" left out: the file is full")


def test_a_copy_of_the_process_shows_warnings_without_control_characters(capfd, monkeypatch):
    with track_log(lambda _: None) as log:
        monkeypatch.setattr(log, "_pid", 0)
        LOGGER.warning("a\x1b[2Jb")
    shown = capfd.readouterr().err
    assert shown.startswith("warning: the track's code logged WARNING: tour.track: a")
    assert "\x1b" not in shown


def test_a_copy_of_the_process_gives_no_command_to_an_agent(capfd, monkeypatch):
    with track_log(lambda _: None) as log:
        monkeypatch.setattr(log, "_pid", 0)
        LOGGER.warning("unparsed data: '##vso[task.setvariable variable=A]b'")
    assert "'# #vso[task" in capfd.readouterr().err


def test_a_log_without_secrets_is_not_replaced_while_it_is_open(tmp_path):
    shown, path = [], tmp_path / "track.log"
    with track_log(shown.append) as log:
        LOGGER.info("http://me:early-one@host/")
        log.write_to(path, frozenset({"hunter2"}))
        LOGGER.warning("hunter2 http://me:late-one@host/?token=abcdefg8")
        redact_file(path, frozenset({"hunter2"}))
        LOGGER.info("at the end")
    assert [line.partition(" INFO ")[2] for line in lines(path) if " INFO " in line] == [
        "http://<hidden>@host/",
        "at the end",
    ]
    assert shown == [
        "the track's code logged WARNING: tour.track: <hidden> http://<hidden>@host/?token=<hidden>"
    ]
