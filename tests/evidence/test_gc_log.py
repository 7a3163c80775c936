"""GC logs through the Rust core; crates/evidence has the tests of each line."""

import gzip
import io
import itertools
import lzma
import re
import zipfile

import pytest

from pacenote.errors import EvidenceError
from pacenote.evidence.gc_log import GcLogReader

HEADER = """\
[2026-11-23T20:37:38.000+0000][0.010s][info][gc     ] Using G1
[2026-11-23T20:37:38.000+0000][0.010s][info][gc,init] Version: 25.0.3+9-LTS (release)
[2026-11-23T20:37:38.000+0000][0.010s][info][gc,init] Heap Region Size: 1M
[2026-11-23T20:37:38.000+0000][0.010s][info][gc,init] Heap Max Capacity: 256M
"""


def line(second, text, tags="gc"):
    """Returns a line that is written some seconds after the start of the JVM."""
    whole, thousandths = divmod(round(second * 1000), 1000)
    wall = f"2026-11-23T20:{37 + (38 + whole) // 60:02}:{(38 + whole) % 60:02}.{thousandths:03}+0000"
    return f"[{wall}][{second:.3f}s][info][{tags:7}] {text}\n"


def young(number, second, sizes="110M->20M(256M)", ms=50):
    """Returns the lines of a young collection of G1 and its safepoint."""
    safepoint = (
        f'Safepoint "G1CollectForAllocation", Time since last: 1 ns, Reaching safepoint: 1000000 ns, '
        f"At safepoint: {ms * 1_000_000} ns, Leaving safepoint: 0 ns, Total: {(ms + 1) * 1_000_000} ns, "
        "Threads: 1 runnable, 14 total"
    )
    return (
        line(second, f"GC({number}) Eden regions: 100->0(100)", "gc,heap")
        + line(second, f"GC({number}) Survivor regions: 10->10(13)", "gc,heap")
        + line(second, f"GC({number}) Old regions: 5->10", "gc,heap")
        + line(second, f"GC({number}) Pause Young (Normal) (G1 Evacuation Pause) {sizes} {ms}.000ms")
        + line(second, f"GC({number}) User=0.08s Sys=0.02s Real=0.05s", "gc,cpu")
        + line(second, safepoint, "safepoint")
    )


def g1(first=0, count=10):
    """Returns young collections of 50 ms, one per second, beginning at second 1."""
    return "".join(young(number, number + 1) for number in range(first, first + count))


@pytest.fixture
def written(tmp_path):
    """Returns a function that writes files and returns their reader."""

    def write(**texts):
        paths = []
        for name, text in texts.items():
            path = tmp_path / name.replace("_", ".")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(path)
        return GcLogReader(paths)

    return write


def test_statistics_are_those_of_the_lines(written):
    log = written(gc_log=HEADER + g1() + line(10.01, "the end")).log()
    assert (log.jvm.collector, log.jvm.version) == ("G1", "25.0.3+9-LTS (release)")
    assert (log.jvm.heap_max_bytes, log.jvm.cpus) == (256 << 20, None)
    statistics = log.statistics
    assert statistics.duration_s == pytest.approx(10)
    assert (statistics.pauses.count, statistics.pauses.p99_ms) == (10, 50)
    assert [kind.name for kind in statistics.pause_kinds] == ["Young (Normal)"]
    assert statistics.pause_share == pytest.approx(0.05)
    assert statistics.stop_share == pytest.approx(0.051)
    assert statistics.safepoints.reaching_s == pytest.approx(0.01)
    # 90 MB between two collections, of which there are 9 intervals in 9 seconds.
    assert statistics.allocation.allocated_bytes_per_s == pytest.approx(90 << 20)
    assert statistics.allocation.promoted_bytes == 50 << 20
    assert statistics.allocation.survived_share == pytest.approx(15 / 110)
    assert (statistics.cpu_user_s, statistics.cpu_system_s) == (pytest.approx(0.8), pytest.approx(0.2))
    assert [(each.window_s, each.minimum) for each in statistics.utilisation] == [
        (0.1, pytest.approx(0.49)),
        (1.0, pytest.approx(0.949)),
        (10.0, pytest.approx(0.949)),
    ]
    assert (log.start, log.end) == (pytest.approx(1795466258.01), pytest.approx(1795466268.01))


def test_a_window_has_the_events_that_ended_in_it(written):
    reader = written(gc_log=HEADER + g1())
    start = 1795466258.0
    # The pause that ends at 3.0 begins in the first window, and half of it is in the second one.
    windows = ((2.5, 4.5), (2.975, 3.475), (100, 200))
    log, half, later = reader.between([(start + begin, start + end) for begin, end in windows])
    assert (log.statistics.pauses.count, log.statistics.duration_s) == (2, pytest.approx(2))
    assert half.statistics.pause_share == pytest.approx(0.05, abs=1e-5)
    assert later is None
    assert reader.between([]) == ()


def test_the_files_of_a_rotated_log_are_read_in_the_order_of_time(written):
    whole = written(gc_log=HEADER + g1()).log()
    parts = {
        "gc_log": g1(7, 3),
        "gc_log_0": HEADER + g1(0, 4),
        "gc_log_1_gz": gzip.compress(g1(4, 3).encode()),
    }
    reader = written(**parts)
    assert reader.log() == whole
    assert len(reader.logs()) == 1
    assert [name.rpartition("/")[2] for name in reader.read_input().files] == [
        "gc.log.0",
        "gc.log.1.gz",
        "gc.log",
    ]


def test_what_is_missing_is_not_available(written):
    log = written(gc_log=g1().replace("[2026-", "[").split("safepoint")[0]).log()
    assert log.jvm.collector == "G1"
    assert log.start is None
    without_times = "".join(row.split("] ")[-1] + "\n" for row in g1().splitlines())
    statistics = written(gc_log=without_times).log().statistics
    assert statistics.pauses.count == 10
    assert statistics.pauses.interval_s is None
    absent = (statistics.start_s, statistics.duration_s, statistics.pause_share, statistics.stop_share)
    assert absent == (None, None, None, None)
    assert statistics.allocation.allocated_bytes == 9 * 90 << 20
    assert statistics.allocation.allocated_bytes_per_s is None
    assert statistics.utilisation == ()


def test_a_log_of_safepoints_alone_does_not_say_that_nothing_was_collected(written):
    only = "".join(row for row in g1().splitlines(keepends=True) if "Safepoint" in row)
    statistics = written(gc_log=only).log().statistics
    assert statistics.safepoints.stops.count == 10
    assert statistics.stop_share > 0.05
    assert (statistics.pauses, statistics.pause_share) == (None, None)
    assert statistics.trouble.full_collections is None
    assert statistics.trouble.forced_collections is None


@pytest.mark.parametrize(
    ("collector", "expected"),
    [
        ("G1", (0, None, 0, 0)),
        ("Shenandoah", (None, 0, None, None)),
        ("Serial", (None, None, None, None)),
        ("The Z Garbage Collector", (None, None, None, None)),
    ],
)
def test_what_a_collector_does_not_log_is_not_zero(written, collector, expected):
    header = HEADER.replace("Using G1", f"Using {collector}")
    lines = header + line(1, "GC(0) User=0.08s Sys=0.02s Real=0.05s")
    trouble = written(gc_log=lines).log().statistics.trouble
    assert (trouble.full_collections, trouble.forced_collections) == (0, 0)
    assert (
        trouble.evacuation_failures,
        trouble.degenerated_collections,
        trouble.concurrent_aborts,
        trouble.humongous_pauses,
    ) == expected


def test_damaged_compression_is_reported_and_the_rest_counts(written):
    compressed = gzip.compress((HEADER + g1(0, 500)).encode())
    reader = written(gc_log_gz=compressed[: len(compressed) // 2])
    assert 10 < reader.log().statistics.pauses.count < 500
    assert "cut off or damaged" in reader.read_input().problems[0]


def zipped(method, texts):
    """Returns a zip archive of files with these names."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as files:
        for name, text in texts.items():
            files.writestr(name, text)
    return archive.getvalue()


TEXT = (HEADER + g1()).encode()


@pytest.mark.parametrize(
    "content",
    [
        lzma.compress(TEXT),
        lzma.compress(TEXT[:700]) + lzma.compress(TEXT[700:]),
        lzma.compress(TEXT, preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_SHA256),
        zipped(zipfile.ZIP_DEFLATED, {"gc.log": TEXT}),
        zipped(zipfile.ZIP_STORED, {"logs/": "", "logs/gc.log": TEXT, "__MACOSX/gc.log": "x", "a/.b": "x"}),
        TEXT.decode().encode("utf-16"),
        b"\xfe\xff" + TEXT.decode().encode("utf-16-be"),
        gzip.compress(TEXT.decode().encode("utf-16")),
        b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n"),
    ],
    ids=["xz", "xz-streams", "xz-9e", "zip", "zip-stored", "utf-16", "utf-16-be", "utf-16-gzip", "utf-8-bom"],
)
def test_compressed_and_converted_logs_are_read(written, content):
    reader = written(gc_log=content)
    assert reader.log() == written(plain_log=TEXT).log()
    assert reader.read_input().problems == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(zipfile.ZIP_DEFLATED, {"a": "x", "b": "y"}), "several files"),
        (zipped(zipfile.ZIP_DEFLATED, {"a/": "", ".hidden": "x"}), "has no file"),
        (zipped(zipfile.ZIP_LZMA, {"gc.log": TEXT}), "not packed with deflate"),
        (zipped(zipfile.ZIP_DEFLATED, {"gc.log": TEXT})[:-30], "cut off or damaged"),
    ],
)
def test_archives_that_are_not_one_log_are_refused(written, content, message):
    with pytest.raises(EvidenceError, match=message):
        written(gc_log_zip=content)


def xz_bomb() -> bytes:
    """Returns many equal streams, which are as one and take less time to write."""
    return lzma.compress(TEXT, preset=0) + lzma.compress((b"x" * 1023 + b"\n") * (1 << 10), preset=0) * 80


def zip_bomb() -> bytes:
    return zipped(zipfile.ZIP_DEFLATED, {"gc.log": TEXT + (b"x" * 1023 + b"\n") * (80 << 10)})


@pytest.mark.process
@pytest.mark.parametrize("bomb", [xz_bomb, zip_bomb])
def test_bombs_are_read_in_part(written, bomb):
    """Lines that expand to more than 200 times the size of the file, and to more than 64 MiB."""
    reader = written(gc_log=bomb())
    assert reader.log().statistics.pauses.count == 10
    assert reader.read_input().bytes < 65 << 20
    assert "expands to more than 200 times" in reader.read_input().problems[0]


def test_xz_with_a_large_dictionary_is_refused(written):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 256 << 20}]
    with pytest.raises(EvidenceError, match="a dictionary of more than 64 MiB"):
        written(gc_log_xz=lzma.compress(TEXT, filters=filters))


def test_damaged_xz_and_zip_are_read_as_far_as_possible(written):
    text = (HEADER + g1(0, 100)).encode()
    second = lzma.compress(g1(100, 100).encode())
    reader = written(gc_log_xz=lzma.compress(text) + second[: len(second) // 2])
    assert 100 <= reader.log().statistics.pauses.count < 200
    assert "cut off or damaged" in reader.read_input().problems[0]
    archive = bytearray(zipped(zipfile.ZIP_STORED, {"gc.log": text}))
    archive[200] ^= 1
    assert "its checksum differs" in written(gc_log_zip=bytes(archive)).read_input().problems[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"no log\n" * 100, "no line of a GC log"),
        (b"\0\xff[" * 100_000, "no line of a GC log"),
        (gzip.compress(b""), "the file is empty"),
    ],
)
def test_other_files_are_rejected(written, content, message):
    with pytest.raises(EvidenceError, match=message) as raised:
        written(gc_log=content)
    assert "-Xlog" in raised.value.hint


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(EvidenceError, match=r"cannot read .*none"):
        GcLogReader([tmp_path / "none"])
    with pytest.raises(EvidenceError, match="is not a file"):
        GcLogReader([tmp_path])


def test_each_start_of_the_jvm_is_a_log(written):
    later = (HEADER + g1(0, 3)).replace("T20:", "T21:")
    reader = written(gc_log=HEADER + g1() + later)
    assert [log.statistics.pauses.count for log in reader.logs()] == [10, 3]
    assert reader.log() == reader.logs()[-1]
    start = 1795466258.0
    logs = reader.between([(start, start + 20), (start + 3600, start + 3620), (start + 100, start + 200)])
    assert [log and log.statistics.pauses.count for log in logs] == [10, 3, None]


def test_pauses_share_the_names_of_their_kinds_and_their_number_is_limited(written, monkeypatch):
    reader = written(gc_log=HEADER + g1())
    assert [(ms, kind) for _, ms, kind in reader.pauses()] == [(50.0, "Young (Normal)")] * 10
    assert len({id(kind) for *_, kind in reader.pauses()}) == 1
    monkeypatch.setattr("pacenote.evidence.gc_log.MOST_PAUSES", 3)
    assert reader.pauses() == reader.pauses()[:3]
    assert len(reader.pauses()) == 3


def test_a_window_without_wall_clock_times_is_an_error(written):
    reader = written(gc_log="".join(row[30:] + "\n" for row in g1().splitlines()))
    assert reader.log().statistics.pauses.count == 10
    with pytest.raises(EvidenceError, match="wall-clock") as raised:
        reader.between([(0, 1)])
    assert "utctime" in raised.value.hint


def test_what_the_application_writes_between_is_ignored(written):
    mixed = "".join(f"{row}\nPause Young\n[app] GC(1) nothing\n" for row in g1().splitlines())
    assert written(gc_log=mixed).log().statistics == written(gc_log=g1()).log().statistics


def test_the_statistics_of_very_many_windows_end_after_a_minute(tmp_path):
    path = tmp_path / "gc.log"
    path.write_text(HEADER + g1(), "utf-8")
    times = itertools.count(0.0, 25.0)
    reader = GcLogReader([path], clock=lambda: next(times))
    with pytest.raises(EvidenceError, match="was read for 2 of 9 tasks only"):
        reader.between([(1795466258.0, 1795466278.0)] * 9)


NUMBERS = re.compile(r"(?<=\] )(.*)")
"""The message of a line, behind its decorations."""


@pytest.mark.parametrize(
    "huge", ["16777215T", "8388607T", "9007199254740993M", "18446744073709551615", "9223372036854775807"]
)
def test_numbers_that_no_jvm_writes_are_damages_and_not_errors(written, huge):
    """Every number of the messages is replaced, one at a time, in every collection."""
    text = HEADER + g1()
    messages = {message[1] for message in NUMBERS.finditer(text)}
    changed = set()
    for message in messages:
        for number in re.finditer(r"\d+[BKMGT]?", message):
            changed.add((message, f"{message[: number.start()]}{huge}{message[number.end() :]}"))
    assert len(changed) > 50
    for place, (message, other) in enumerate(sorted(changed)):
        reader = written(**{f"gc{place}_log": text.replace(message, other)})
        (log,) = reader.logs()
        assert log.statistics.heap.before_max_bytes is None or log.statistics.heap.before_max_bytes < 2**63
        assert reader.read_input() is not None


def test_collections_with_sizes_that_no_jvm_has_are_counted_as_damaged(written):
    reader = written(gc_log=HEADER + g1(0, 3) + young(3, 4, "16777215T->16777215T(16777215T)"))
    (log,) = reader.logs()
    assert log.statistics.pause_count == 3
    assert log.statistics.heap.before_max_bytes == 110 << 20
    assert any("pause" in problem for problem in reader.read_input().problems)


def test_sums_of_more_than_64_bits_are_the_largest_number(written):
    sizes = f"{2**62}B->0B({2**62}B)"
    (log,) = written(gc_log=HEADER + "".join(young(number, number + 1, sizes) for number in range(20))).logs()
    assert log.statistics.allocation.allocated_bytes == 2**63 - 1
