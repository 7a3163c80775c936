"""The modules under Rally's names that plug-ins import."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.plugins.load import load_plugins
from pacenote.plugins.rally_api.errors import DataError, InvalidSyntax
from pacenote.plugins.rally_api.esrally.driver import scheduler
from pacenote.plugins.rally_api.esrally.track import loader
from pacenote.plugins.rally_api.esrally.utils import console, convert, io, net, process, versions
from pacenote.plugins.rally_api.track import Challenge, DocumentCorpus, Documents, Operation, Task, Track
from pacenote.plugins.tools import DataTools, set_current_tools
from plugins.tracks import write_track
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

IMPORTS = """
    import esrally
    from esrally.driver import runner, scheduler
    from esrally.driver.scheduler import DeterministicScheduler, PoissonScheduler, Scheduler, SimpleScheduler
    from esrally.track import loader, params
    from esrally.track.loader import data_dir, used_corpora
    from esrally.utils import console, convert, io, net, process, versions
    from esrally.utils.versions import Version

    SOURCES = '''
        BulkIndex ClosePointInTime CreateComponentTemplate CreateComposableTemplate CreateDataStream
        CreateIndex CreateIndexTemplate CreateTemplate Delegating DeleteComponentTemplate
        DeleteComposableTemplate DeleteDataStream DeleteIndex DeleteIndexTemplate DeleteTemplate Downsample
        ForceMerge OpenPointInTime PartitionBulkIndex Search Sleep
    '''.split()

    class Own(scheduler.Scheduler):
        def __init__(self, task):
            pass
        def next(self, current):
            return current + 1

    def register(registry):
        for name in (*SOURCES, ""):
            assert isinstance(getattr(params, name + "ParamSource"), type)
        assert esrally.utils.versions is versions
        registry.register_scheduler("own", Own)
    """


def test_all_modules_that_the_documentation_lists_can_be_imported(tmp_path: Path) -> None:
    with load_plugins(write_track(tmp_path, {"track.py": IMPORTS}) / "track.py") as plugins:
        own = plugins.registry.schedulers["own"](None)
        assert not scheduler.is_simple_scheduler(type(own))
        assert own.next(1) == 2


@pytest.mark.process
def test_importing_rally_does_not_import_the_client_of_the_engine() -> None:
    name = "pacenote.plugins.rally_api.esrally"
    code = f"import sys, {name}; sys.exit('elasticsearch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_synchronous_client_accepts_every_engine() -> None:
    synchronous = importlib.import_module("pacenote.plugins.rally_api.esrally.client.synchronous")
    received: list[HttpRequest] = []

    def respond(request: HttpRequest) -> HttpResponse:
        received.append(request)
        return json_response({"hits": {"total": {"value": 3}}})

    with http_server(respond) as server:
        client = synchronous.RallySyncElasticsearch(
            f"http://{server.address}", distribution_version="9.0.0", distribution_flavor="serverless"
        )
        assert client.search(index="a", body={"query": {}})["hits"]["total"]["value"] == 3
        assert client.options(request_timeout=5).is_serverless
        client.perform_request("POST", "/_bulk", body=[{"index": {}}])
        client.close()
    search, bulk = received
    assert (search.headers["content-type"], search.headers["accept"]) == ("application/json",) * 2
    assert bulk.headers["content-type"] == "application/x-ndjson"


def test_units_and_text_are_converted() -> None:
    assert (convert.bytes_to_kb(2048), convert.bytes_to_gb(None)) == (2.0, None)
    assert (convert.bytes_to_human_value(3 << 20), convert.bytes_to_human_unit(3 << 20)) == (3.0, "MB")
    assert (convert.bytes_to_human_unit(0), convert.bytes_to_human_unit(None)) == ("B", "N/A")
    assert (convert.seconds_to_ms(2), convert.ms_to_minutes(90_000), convert.ms_to_seconds(5)) == (
        2000,
        1.5,
        0.005,
    )
    assert [convert.to_bool(value) for value in ("yes", "False", "1", True)] == [True, False, True, True]
    assert (convert.to_strings("a, b"), convert.to_strings(None), convert.factor(3)(2)) == (("a", "b"), (), 6)
    with pytest.raises(ValueError, match="maybe"):
        convert.to_bool("maybe")


def test_versions_are_compared_by_their_numbers() -> None:
    old, new = versions.Version.from_string("8.9.3"), versions.Version.from_string("8.10.0-SNAPSHOT")
    assert old < new
    assert new == versions.Version(8, 10, 0)
    assert (str(old), str(new), new.suffix) == ("8.9.3", "8.10.0-SNAPSHOT", "SNAPSHOT")
    assert versions.components("8.1", strict=False) == (8, 1, None, None)
    assert versions.major_version("7.17.0") == 7
    assert list(versions.variants_of("8.1.2-rc1")) == ["8.1.2-rc1", "8.1.2", "8.1", "8"]
    assert [versions.is_version_identifier(text) for text in ("8.1.2", "8.1", None)] == [True, False, False]
    assert versions.is_serverless("serverless")
    with pytest.raises(InvalidSyntax, match="'8'"):
        versions.major_version("8")


def test_output_is_written_and_passed_to_the_logger(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[object] = []
    console.println("plain", underline="-", logger=seen.append)
    console.warn("careful", logger=logging.getLogger("pacenote-test"))
    console.info(console.format.bold("done"), end="")
    console.progress().print("50 %", "half")
    assert capsys.readouterr().out == "plain\n-----\n[WARNING] careful\n[INFO] done"
    assert seen == ["plain"]


@pytest.mark.process
def test_processes_are_run(caplog: pytest.LogCaptureFixture) -> None:
    assert process.run_subprocess("exit 3") == 3
    assert process.run_subprocess_with_output("printf 'a\\nb'") == ["a", "b"]
    with caplog.at_level(logging.INFO):
        assert process.run_subprocess_with_logging("printf seen", header="begin") == 0
    assert [record.message for record in caplog.records] == ["begin", "seen"]
    assert process.run_subprocess_with_logging("sleep 60", timeout=0.01) == -9
    assert process.exit_status_as_bool(lambda: None)
    assert not process.exit_status_as_bool(lambda: process._run("/no/such/program").returncode, quiet=True)


def test_file_names_are_split_and_archives_unpacked(tmp_path: Path) -> None:
    assert [io.splitext(name)[1] for name in ("a.tar.gz", "b/c.json.bz2", "d")] == [".tar.gz", ".bz2", ""]
    assert io.is_archive("a.json.zst")
    assert not io.is_archive("a.json")
    assert io.has_extension("a.json", ".json")
    unpacked: list[tuple[Path, Path]] = []
    set_current_tools(DataTools(unpack=lambda archive, path: unpacked.append((archive, path))))
    try:
        io.decompress(str(tmp_path / "a.json.bz2"), str(tmp_path / "out"))
    finally:
        set_current_tools(DataTools())
    assert unpacked == [(tmp_path / "a.json.bz2", tmp_path / "out" / "a.json")]
    (tmp_path / "out" / "a.json").write_bytes(b"12345")
    assert io.get_size(str(tmp_path / "out")) == 5
    with pytest.raises(DataError):
        io.prepare_file_offset_table(str(tmp_path / "out" / "a.json"))
    source = io.DictStringFileSourceFactory({"a": ["1", "2", "3"]})("a", "rt")
    with source as opened:
        assert (opened.readline(), opened.readlines(5), opened.readline()) == ("1", ["2", "3"], "")


def test_texts_are_downloaded_with_the_tools_of_the_race() -> None:
    def download(url: str, path: str, size: int | None) -> None:
        Path(path).write_text(f"{url} {size}")

    set_current_tools(DataTools(download=download))
    try:
        assert net.retrieve_content_as_string("http://h/a") == "http://h/a None"
    finally:
        set_current_tools(DataTools())
    assert net.resolve("127.0.0.1") == "127.0.0.1"


def test_the_corpora_that_tasks_use_and_their_folders_are_known() -> None:
    def documents(name: str, index: str) -> Documents:
        return Documents("bulk", name, number_of_documents=10, target_index=index)

    corpora = [
        DocumentCorpus("used", [documents("a", "a"), documents("b", "b"), documents("c", "c")]),
        DocumentCorpus("idle", [documents("d", "d")]),
    ]

    def task(index: str) -> Task:
        params = {"bulk-size": 5, "corpora": "used", "indices": [index]}
        return Task(index, Operation(index, "bulk", params=params))

    schedule = [task("a"), task("b"), Task("s", Operation("s", "search", params={"index": "a"}))]
    track = Track("t", corpora=corpora, challenges=[Challenge("c", default=True, schedule=list(schedule))])
    (used,) = loader.used_corpora(track)
    assert (used.name, [each.document_file for each in used.documents]) == ("used", ["a", "b"])
    set_current_tools(DataTools(track_folder=Path("/t"), data_root=Path("/d")))
    try:
        assert loader.data_dir(None, "t", "used") == ["/t", "/d/used"]
    finally:
        set_current_tools(DataTools())


def test_a_unit_aware_scheduler_adjusts_its_rate_to_the_work() -> None:
    task = Task("t", Operation("t", "bulk"), clients=2, params={"target-throughput": "100 docs/s"})
    aware = scheduler.UnitAwareScheduler(task, scheduler.DeterministicScheduler)
    assert aware.next(3) == 0
    aware.after_request(1, 10, "docs", {})
    assert aware.next(3) == pytest.approx(3.2)
