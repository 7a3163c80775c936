"""Too little memory or disk space is reported before an engine starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.provision.resources import GIB, MIB, available_memory, check_disk, check_memory, parse_heap


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    4194304 kB\n"}


def test_heap_sizes_are_parsed() -> None:
    assert [parse_heap(text) for text in ("1g", "512m", "2GB", "524288k")] == [
        GIB,
        512 * MIB,
        2 * GIB,
        512 * MIB,
    ]
    for wrong in ("", "g", "1t", "1.5g", "64m"):
        with pytest.raises(UsageError, match="heap_size"):
            parse_heap(wrong)


def test_available_memory_is_the_kernels_estimate(tmp_path: Path) -> None:
    assert available_memory(write(tmp_path, MEMINFO)) == 4 * GIB
    assert available_memory(tmp_path / "nothing") is None


def test_limits_of_parent_cgroups_apply_to_memory_without_the_page_cache(tmp_path: Path) -> None:
    files = MEMINFO | {
        "proc/self/cgroup": "0::/outer/inner\n",
        "sys/fs/cgroup/outer/inner/memory.max": "max\n",
        "sys/fs/cgroup/outer/inner/memory.current": "5\n",
        "sys/fs/cgroup/outer/memory.max": f"{2 * GIB}\n",
        "sys/fs/cgroup/outer/memory.current": f"{GIB}\n",
        "sys/fs/cgroup/outer/memory.stat": f"anon 1\ninactive_file {GIB // 2}\n",
    }
    assert available_memory(write(tmp_path, files)) == GIB + GIB // 2


def test_limits_of_version_1_cgroups_apply(tmp_path: Path) -> None:
    files = MEMINFO | {
        "proc/self/cgroup": "5:memory:/docker/x\n3:cpu:/docker/x\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB // 4}\n",
    }
    assert available_memory(write(tmp_path, files)) == GIB * 3 // 4


def test_error_messages_contain_the_required_and_the_available_amount(tmp_path: Path) -> None:
    check_memory(GIB, None)
    check_memory(GIB, 2 * GIB)
    with pytest.raises(
        EngineError, match=r"4\.0 GiB of heap needs 4\.5 GiB, but only 2\.0 GiB are available"
    ):
        check_memory(4 * GIB, 2 * GIB)
    with pytest.raises(EngineError, match="too little disk"):
        check_disk(tmp_path, 1 << 60)
