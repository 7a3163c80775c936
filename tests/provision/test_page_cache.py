"""The page cache of real files is dropped, filled and measured."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.provision.page_cache import (
    DROP_CACHES,
    CachedBytes,
    drop_page_cache,
    fill_page_cache,
    measure_page_cache,
)

SIZE = 3 << 20


@pytest.fixture
def data() -> Iterator[Path]:
    # The folder for temporary files may be in memory, where pages cannot be dropped.
    folder = Path(__file__).parents[2] / ".pytest_cache" / f"page-cache-{os.getpid()}"
    (folder / "index").mkdir(parents=True, exist_ok=True)
    (folder / "index" / "_0.cfs").write_bytes(os.urandom(SIZE))
    (folder / "index" / "small").write_bytes(b"x")
    (folder / "index" / "empty").write_bytes(b"")
    (folder / "index" / "link").symlink_to("/etc/passwd")
    yield folder
    for path in (folder / "index").iterdir():
        path.unlink()
    (folder / "index").rmdir()
    folder.rmdir()


def test_pages_are_dropped_without_privileges_and_filled_again(data: Path, tmp_path: Path) -> None:
    written = measure_page_cache([data])
    assert written == CachedBytes(SIZE + 4096, SIZE + 4096)
    assert written.share == 1.0
    # A file that cannot be opened, like that of the kernel for other users than root.
    assert drop_page_cache([data], tmp_path / "missing" / "drop_caches") == "fadvise"
    assert measure_page_cache([data]) == CachedBytes(SIZE + 4096, 0)
    fill_page_cache([data])
    assert measure_page_cache([data]).share == 1.0


def test_the_kernel_drops_all_pages_if_it_may_be_told(data: Path, tmp_path: Path) -> None:
    switch = tmp_path / "drop_caches"
    switch.touch()
    assert drop_page_cache([data], switch) == "drop_caches"
    assert switch.read_text() == "3\n"
    assert measure_page_cache([data]).cached == 0
    assert Path("/proc/sys/vm/drop_caches") == DROP_CACHES


def test_pages_that_a_process_has_mapped_remain_and_are_counted(data: Path, tmp_path: Path) -> None:
    with (
        (data / "index" / "_0.cfs").open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped,
    ):
        assert mapped[0] + mapped[SIZE - 1] >= 0
        drop_page_cache([data], tmp_path / "missing" / "drop_caches")
        assert measure_page_cache([data]).cached > 0


def test_a_file_with_several_names_counts_once(data: Path) -> None:
    """A folder can have a million names of one large file."""
    once = measure_page_cache([data])
    file = next(path for path in data.rglob("*") if path.is_file() and path.stat().st_size)
    links = [data / f"link-{number}" for number in range(3)]
    for link in links:
        link.hardlink_to(file)
    assert measure_page_cache([data]).bytes == once.bytes > 0
    for link in links:
        link.unlink()


def test_no_files_are_not_cached(tmp_path: Path) -> None:
    assert measure_page_cache([tmp_path]) == CachedBytes()
    assert CachedBytes().share == 0.0


def test_holes_are_not_read(data: Path) -> None:
    """The user of a node can make them of any size."""
    with (data / "index" / "sparse").open("wb") as file:
        os.ftruncate(file.fileno(), 1 << 43)
        os.pwrite(file.fileno(), b"x", 1 << 42)
    fill_page_cache([data])
    measured = measure_page_cache([data])
    assert measured == CachedBytes(SIZE + 2 * 4096, SIZE + 2 * 4096)


def test_a_file_system_that_does_not_know_holes_is_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _position: int, _whence: int) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "lseek", refuse)
    fill_page_cache([data])
    assert measure_page_cache([data]) == CachedBytes(SIZE + 4096, SIZE + 4096)
