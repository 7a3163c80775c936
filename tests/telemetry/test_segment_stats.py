"""Rally's segment-stats: a table in the artifacts of the race."""

from pacenote.telemetry.segment_stats import SegmentStats
from support.http_server import HttpResponse
from telemetry.sampling import artifacts, run_device, text_response


def test_the_table_of_segments_is_stored_as_the_engine_prints_it(tmp_path):
    table = "index shard prirep segment\nlogs  0     p      _0\n"
    run = run_device(SegmentStats, lambda _request: text_response(table), **artifacts(tmp_path))
    assert run.result.errors == ()
    assert run.lines == ["GET /_cat/segments?v=true&format=text"]
    assert (tmp_path / "artifacts" / "segment_stats.log").read_text() == table


def test_a_cluster_without_segments_gives_an_empty_file(tmp_path):
    run_device(SegmentStats, lambda _request: HttpResponse(), **artifacts(tmp_path))
    assert (tmp_path / "artifacts" / "segment_stats.log").read_text() == ""


def test_a_file_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "artifacts").write_text("")
    run = run_device(SegmentStats, lambda _request: text_response("x"), **artifacts(tmp_path))
    assert "segment_stats.log cannot be written" in run.result.errors[0]
