"""Journals of events: cut lines, damaged lines, and locks."""

import os

import pytest

from pacenote.errors import StoreError
from pacenote.store import file_lock
from pacenote.store import journal as journal_module
from pacenote.store.file_lock import file_locked, is_file_locked, is_file_shared, shared_lock
from pacenote.store.journal import Journal


def number(document):
    if not isinstance(document, dict):
        raise ValueError("it is not an event")
    return document["n"]


@pytest.fixture
def journal(tmp_path):
    filled = Journal(tmp_path / "journal", number)
    for n in (1, 2):
        filled.append({"n": n})
    return filled


def test_events_are_read_in_their_order(journal, tmp_path):
    assert journal.read() == (1, 2)
    assert Journal(tmp_path / "missing", number).read() == ()
    Journal(tmp_path / "missing", number).repair()


@pytest.mark.parametrize(("rest", "kept"), [(b'{"n": 3', (1, 2)), (b'{"n": 3}', (1, 2, 3)), (b"", (1, 2))])
def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_follows(journal, rest, kept):
    with journal.path.open("ab") as file:
        file.write(rest)
    assert journal.read() == kept
    journal.repair()
    journal.append({"n": 4})
    assert journal.read() == (*kept, 4)
    unreadable = journal.path.with_name("journal.unreadable")
    assert (unreadable.read_bytes() if unreadable.exists() else b"") == (rest if kept == (1, 2) else b"")


def test_what_is_cut_off_never_replaces_what_was_cut_off_before(journal):
    for rest in (b"first", b"second"):
        with journal.path.open("ab") as file:
            file.write(rest)
        journal.repair()
    names = ("journal.unreadable", "journal.unreadable-2")
    assert [journal.path.with_name(name).read_bytes() for name in names] == [b"first", b"second"]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_journal_that_is_no_file_is_not_repaired(journal, tmp_path, kind):
    target = tmp_path / "target"
    journal.path.rename(target)
    os.mkfifo(journal.path) if kind == "pipe" else journal.path.symlink_to("journal")
    with pytest.raises(StoreError, match="cannot write"):
        journal.repair()


@pytest.mark.parametrize("line", [b"5", b'{"n": ', b"\xff"])
def test_another_line_that_cannot_be_read_is_an_error(journal, line):
    text = journal.path.read_bytes()
    journal.path.write_bytes(line + b"\n" + text)
    with pytest.raises(StoreError, match=f"line 1 of {journal.path} cannot be read: "):
        journal.read()


def test_asking_for_a_lock_changes_nothing_and_does_not_collide(tmp_path):
    path, busy = tmp_path / ".lock", StoreError("it is running")
    assert not is_file_locked(path)
    assert not path.exists()
    with file_locked(path, busy):
        assert is_file_locked(path)
        assert is_file_locked(path)
        with pytest.raises(StoreError, match="it is running"), file_locked(path, busy):
            pass
    assert not is_file_locked(path)
    # What the block raises is not taken for a lock of another process.
    with pytest.raises(BlockingIOError), file_locked(path, busy):
        raise BlockingIOError
    tmp_path.chmod(0o500)
    assert not is_file_locked(path)
    tmp_path.chmod(0o700)


def test_a_process_that_asks_for_a_lock_keeps_no_other_one_from_it(tmp_path, monkeypatch):
    path, busy = tmp_path / ".lock", StoreError("it is running")
    asked = shared_lock(path)
    # The lock of who asks is released at once.
    monkeypatch.setattr(file_lock.time, "sleep", lambda _seconds: os.close(asked))
    with file_locked(path, busy):
        assert is_file_locked(path)


def test_a_shared_lock_is_held_until_the_last_process_has_ended(tmp_path):
    path = tmp_path / ".races"
    assert not is_file_shared(path)
    first, second = shared_lock(path), shared_lock(path)
    os.close(first)
    assert is_file_shared(path)
    os.close(second)
    assert not is_file_shared(path)


def test_a_journal_does_not_become_longer_than_one_that_is_read(journal, monkeypatch):
    size = journal.path.stat().st_size
    monkeypatch.setattr(journal_module, "MAX_FILE_BYTES", size + len('{"n": 3}\n'))
    journal.append({"n": 3})
    with pytest.raises(StoreError, match="could not be read"):
        journal.append({"n": 4})
    assert journal.read() == (1, 2, 3)
