"""The files of rotated GC logs."""

from pathlib import Path

from pacenote.evidence.gc_files import group_files, log_name, unnamed_files


def test_numbers_and_compression_do_not_belong_to_the_name_of_a_log():
    for name in ("gc.log", "gc.log.0", "gc.log.12", "gc.log.gz", "gc.log.03.gz", "gc.log.xz", "gc.log.1.zip"):
        assert log_name(Path("logs") / name) == Path("logs/gc.log")
    assert log_name(Path("gc-2.log")) == Path("gc-2.log")
    assert log_name(Path(".0")) == Path(".0")


def test_files_are_grouped_by_folder_and_name():
    files = [Path(name) for name in ("b/gc.log", "a/gc.log.1", "a/gc.log", "b/gc.log", "a/other.log")]
    groups = group_files(files)
    assert groups == {
        Path("b/gc.log"): (Path("b/gc.log"),),
        Path("a/gc.log"): (Path("a/gc.log.1"), Path("a/gc.log")),
        Path("a/other.log"): (Path("a/other.log"),),
    }


def test_files_that_were_not_named_are_found(tmp_path):
    for name in ("gc.log", "gc.log.0", "gc.log.1.gz", "gc.log.bak", "gc.logs"):
        (tmp_path / name).touch()
    files = unnamed_files(tmp_path / "gc.log", [tmp_path / "gc.log"])
    assert [file.name for file in files] == ["gc.log.0", "gc.log.1.gz"]
    assert unnamed_files(tmp_path / "none" / "gc.log", []) == ()
