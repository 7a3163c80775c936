"""`pacenote download`: data from a real server. The tests in tests/e2e download an engine."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.cli.output.progress_text import ProgressEstimator
from pacenote.provision.distributions.registry import DISTRIBUTIONS
from pacenote.provision.layout import plan_layout
from pacenote.store.home import default_home
from support.file_server import FileServer, file_server
from support.official_archive import official_files, pack


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server() as running:
        running.content = gzip.compress(b'{"n": 1}\n' * 25)
        yield running


@pytest.fixture
def track(tmp_path: Path, server: FileServer) -> Path:
    def schedule(corpus: str) -> list[dict[str, object]]:
        return [{"operation": {"operation-type": "bulk", "bulk-size": 10, "corpora": corpus}}]

    def corpus(name: str) -> dict[str, object]:
        file = {"source-file": f"{name}.json.gz", "document-count": 25, "target-index": "notes"}
        return {"name": name, "base-url": f"{server.url}/{name}", "documents": [file]}

    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "track.json").write_text(
        json.dumps({
            "version": 2,
            "indices": [{"name": "notes"}],
            "corpora": [corpus("few"), corpus("many")],
            "challenges": [
                {"name": "first", "default": True, "schedule": schedule("few")},
                {"name": "second", "schedule": schedule("many")},
            ],
        })
    )
    return folder


@pytest.mark.parametrize("command", ["race", "download"])
def test_the_help_names_the_distributions_that_can_be_started(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f": {' or '.join(DISTRIBUTIONS)} (default" in " ".join(out.split())


def test_only_the_data_of_the_challenge_is_downloaded(run, home, track, server):
    code, out, err = run("download", f"--track-path={track}", "--challenge=second")
    assert code == 0, err
    file = home / "corpora" / "many" / "many.json"
    assert json.loads(out) == {"corpora": {"many": [str(file)]}}
    assert file.read_bytes().count(b"\n") == 25
    assert [request.target for request in server.requests] == ["/many/many.json.gz"]
    assert "downloading many.json.gz …" in err


def test_a_mirror_and_a_cache_folder_are_used(run, track, server, tmp_path):
    code, out, _ = run(
        *("download", f"--track-path={track}", "--quiet", f"--dataset-cache={tmp_path / 'data'}"),
        f"--corpus-mirror={server.url}=,{server.url}={server.url}/mirror",
    )
    assert code == 2  # An empty URL is not a mirror.
    code, out, _ = run(
        *("download", f"--track-path={track}", "--quiet", f"--dataset-cache={tmp_path / 'data'}"),
        f"--corpus-mirror={server.url}={server.url}/mirror",
    )
    assert code == 0
    assert json.loads(out)["corpora"]["few"] == [str(tmp_path / "data" / "few" / "few.json")]
    assert [request.target for request in server.requests] == ["/mirror/few/few.json.gz"]


def test_paths_that_look_like_secrets_are_json(run, track, tmp_path):
    folder = tmp_path / "password='data"
    code, out, _ = run("download", f"--track-path={track}", "--quiet", f"--dataset-cache={folder}")
    assert code == 0
    assert json.loads(out)["corpora"]["few"] == [f"{tmp_path}/password='<hidden>"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "nothing to download"),
        (["--distribution-version=6.8.0"], 64, "elasticsearch 6.8.0 cannot be started by Pacenote"),
        (["--distribution-repository=ours"], 2, "unknown repository 'ours' in --distribution-repository"),
        (
            ["--distribution-archive=/x/a.tar.gz"],
            2,
            "the name of the file in --distribution-archive does not state an engine and its version",
        ),
        (
            ["--distribution-archive=/no/a.tar.gz", "--distribution-version=8.5.0"],
            2,
            "the archive /no/a.tar.gz does not exist",
        ),
        (
            ["--distribution-archive=/no/elasticsearch-8.17.0.tar.gz"],
            2,
            "the archive /no/elasticsearch-8.17.0.tar.gz does not exist",
        ),
        (
            ["--distribution-archive=/x/a.tar.gz", "--distribution-repository=release"],
            2,
            "--distribution-repository and --distribution-archive exclude each other",
        ),
        (
            ["--distribution-version=3.99.0", "--offline"],
            64,
            "opensearch 3.99.0 was never resolved here",
        ),
        (["--distribution=elastic"], 2, "unknown distribution 'elastic'"),
        (["--distribution-version=3.99.0", "--car=4gheep"], 2, "unknown car '4gheep'"),
        (["--track=x", "--corpus-mirror=http://a/x="], 2, "--corpus-mirror must be a URL or PREFIX=URL"),
        (["--track=x", "--corpus-mirror=somewhere"], 2, "--corpus-mirror must be a URL or PREFIX=URL"),
    ],
)
def test_impossible_downloads_are_rejected(run, arguments, code, message):
    exit_code, out, err = run("download", *arguments)
    assert (exit_code, out) == (code, "")
    assert message in err


def test_a_car_is_accepted_and_has_no_effect(run):
    arguments = ("download", "--track=http_logs", "--track-params=docs:7", "--quiet")
    code, out, err = run(*arguments, "--car=defaults")
    assert (code, err) == (0, "")
    code, other, err = run(*arguments, "--car=4gheap,ea", "--car-params=heap_size:2g")
    assert (code, other) == (0, out)
    what = "has no effect: all cars use the same download"
    assert err == f"warning: --car {what}\nwarning: --car-params {what}\n"


def test_offline_names_the_file(run, track):
    code, _, err = run("download", f"--track-path={track}", "--offline")
    assert code == 64
    assert "few.json.gz of corpus 'few' is missing, and --offline forbids downloading it" in err


def test_progress_shows_rate_and_remaining_time():
    now = [100.0]
    estimator = ProgressEstimator(lambda: now[0])
    # Bytes downloaded by an earlier run do not count towards the rate.
    assert estimator.describe("downloading a", 1 << 30, 3 << 30) == "33 %"
    now[0] += 10
    assert estimator.describe("downloading a", 2 << 30, 3 << 30) == "66 %, 102.4 MiB/s, 10 s left"
    assert estimator.describe("reading a", 0, 0) == "…"
    now[0] += 10
    assert estimator.describe("reading a", 50_000, 0) == "50,000, 5,000 docs/s"
    assert estimator.describe("downloading a", 3 << 30, 3 << 30) == "done, 102.4 MiB/s"


def test_a_track_with_a_generator_needs_no_download(run, home):
    code, out, err = run("download", "--track=http_logs", "--track-params=docs:700", "--quiet")
    assert code == 0, err
    files = [Path(name) for name in json.loads(out)["corpora"]["http_logs"]]
    assert len(files) == 7
    assert sum(file.read_bytes().count(b"\n") for file in files) == 700
    assert all(file.is_relative_to(home) for file in files)


def test_the_path_of_an_archive_is_printed(run, tmp_path):
    archive = tmp_path / "elasticsearch-8.17.0-linux-x86_64.tar.gz"
    more = {"jdk/bin/java": "#!/bin/sh\n", "jdk/release": 'JAVA_VERSION="21.0.1"\n'}
    archive.write_bytes(pack(official_files(more=more)))
    code, out, err = run("download", f"--distribution-archive={archive}", "--quiet")
    # For root, the unpacked engine is outside the home folder, where pytest does not clean up.
    shutil.rmtree(plan_layout(default_home()).root)
    assert code == 0, err
    assert json.loads(out) == {"elasticsearch": str(archive)}
