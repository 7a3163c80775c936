"""No file of a race, and nothing that it prints, contains a secret."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from pacenote.cli.main import main
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_request import RaceRequest
from pacenote.race.conclusion import with_stored_race
from pacenote.race.supervisor import ProcessEnded
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response
from support.records import record

pytestmark = pytest.mark.process

NAMES = (
    *("client_secret", "aws_secret", "secret", "passwd", "pwd", "passphrase", "private_key", "credentials"),
    *("account_key", "sas", "auth", "connection_string", "token", "password", "api_key", "secret_key"),
    *("clientSecret", "privateKey", "AccountKey", "connection-string", "SASToken", "x-auth"),
    *("db_pass", "pw", "session-cookie", "jwt", "pat", "sig", "requestSignature"),
)


def echo(request: HttpRequest) -> HttpResponse:
    """Rejects each request of the track and repeats it in the reason, as an engine may do."""
    if request.path != "/planted":
        return json_response(engine_document(request.target))
    credentials = base64.b64decode(request.headers["authorization"].rpartition(" ")[2]).decode()
    reason = f"cannot use {request.headers} {credentials} {request.target} {request.body.decode()}"
    return json_response({"error": {"type": "t", "reason": reason}, "status": 400}, 400)


def stored_texts(home: Path) -> dict[str, str]:
    """Returns the content of all files, that of Parquet files as rows."""
    texts = {}
    for path in (path for path in home.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            texts[path.name] = str(pyarrow.parquet.read_table(path).to_pylist())
        else:
            texts[path.name] = path.read_bytes().decode(errors="replace")
    return texts


def test_planted_secrets_are_in_no_file_of_a_race_and_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    params = {name: f"hunter-p-{number:02}" for number, name in enumerate(NAMES)}
    body = {"settings": {name: f"hunter-b-{number:02}" for number, name in enumerate(NAMES)}}
    body["settings"]["url"] = "https://hunter-u@host/x"
    body["settings"]["other"] = "https://me:hunter-body%21@host/x"
    body["settings"]["signed"] = "https://host/x?sv=1&sig=hunter-signed%2F1"
    body["settings"]["plain"] = "kept-readable {{ secret }}"
    operation = {
        "operation-type": "raw-request",
        "method": "POST",
        "path": "/planted?token=hunter-q-00&pretty=true",
        "body": body,
        "headers": {
            "x-amz-security-token": "hunter-amz",
            "Cookie": "sid=hunter-cookie",
            "x-api": "Key hunter-key",
        },
    }
    schedule = [{"name": "planted", "operation": operation, "clients": 1, "iterations": 2}]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    # The value of this parameter is only known as a secret from the body of a request.
    (tmp_path / "params.json").write_text(json.dumps({**params, "innocent": "hunter-b-00"}))
    with http_server(echo) as server:
        code = main([
            "race",
            f"--track-path={tmp_path}",
            f"--track-params={tmp_path / 'params.json'}",
            "--ignore-unused-track-params",
            "--pipeline=benchmark-only",
            f"--target-hosts=http://me:hunter-host%21@{server.address}",
            f"--user-tags={json.dumps({'token': 'hunter-tag', 'team': 'search', 'at': 'http://hunter-at@h'})}",
            f"--client-options={json.dumps({'headers': {'x-tenant': 'hunter-header'}})}",
        ])
        sent = [request for request in server.requests if request.path == "/planted"]
    assert len(sent) == 2
    assert all(b"hunter-b-00" in request.body and b"hunter-p" in request.body for request in sent)
    output = capfd.readouterr()
    assert code == 3, output
    texts = stored_texts(tmp_path / "home")
    assert {"race.json", "plan.json", "samples.parquet", "series.parquet"} <= texts.keys(), (code, output)
    assert "kept-readable <hidden>" in texts["plan.json"]
    assert "search" in texts["race.json"]
    texts |= {"stdout": output.out, "stderr": output.err}
    assert {name: text for name, text in texts.items() if "hunter" in text} == {}


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line, and returns the exit code, what it printed, and the content of its home."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        output = capfd.readouterr()
        return code, output.out + output.err, str(stored_texts(tmp_path / "home"))

    return run


def write_track(folder: Path, operation: dict[str, object], **more: object) -> str:
    """Writes a track with one task, and returns the option that selects it."""
    folder.mkdir(exist_ok=True)
    schedule = [{"name": "t", "operation": operation, "clients": 1, "iterations": 1}]
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule, **more}))
    return f"--track-path={folder}"


def test_logs_of_a_race_whose_process_was_killed_contain_no_secrets(tmp_path: Path) -> None:
    params = {"password": "hunter-params", "heap_size": "1g"}
    request = RaceRequest(race_id="r", home=tmp_path, engine=EngineOptions(car_params=params))
    folder = RaceFolder(RaceStore(tmp_path).races / "r")
    folder.artifacts.mkdir(parents=True)
    folder.write(record(race_id="r", complete=False))
    log = folder.artifacts / "engine.log"
    log.write_text("started with hunter-params\n")
    with_stored_race(request, ProcessEnded("killed with hunter-params"))
    assert log.read_text() == "started with <hidden>\n"
    assert {name: text for name, text in stored_texts(tmp_path).items() if "hunter" in text} == {}


URLS = ("http://me:{}@{}", "http://{}:x@{}", "http://{}@{}")
"""URLs whose password or user name is a token."""

TOKEN = "hunter%2Ftoken-0123456789"


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("debug", [False, True])
def test_the_reason_why_a_race_was_aborted_contains_no_credentials(
    url: str, debug: bool, run: Run, tmp_path: Path
) -> None:
    operation = {"operation-type": "raw-request", "method": "POST", "path": "/planted"}
    track = write_track(
        tmp_path / "t",
        {**operation, "body": {"url": url.format(TOKEN, "h"), "name": "hunter/token-0123456789"}},
    )
    with http_server(echo) as server:
        code, printed, stored = run(
            *("race", track, "--on-error=abort", f"--target-hosts={url.format(TOKEN, server.address)}"),
            *(["--debug"] if debug else []),
        )
    assert code in (3, 64), printed
    assert "aborted" in stored
    assert "hunter" not in printed + stored


@pytest.mark.parametrize("url", URLS)
def test_addresses_of_clusters_and_data_are_shown_without_credentials(
    url: str, run: Run, tmp_path: Path
) -> None:
    def refuse(request: HttpRequest) -> HttpResponse:
        if request.path == "/data/d.json":
            return HttpResponse(403, f"no {request.headers}".encode())
        return json_response(engine_document(request.target))

    with http_server(refuse) as server:
        documents = [{"source-file": "d.json", "document-count": 1, "target-index": "i"}]
        corpus = {
            "name": "c",
            "base-url": url.format(TOKEN, f"{server.address}/data"),
            "documents": documents,
        }
        indices = [{"name": "i"}]
        track = write_track(
            tmp_path / "t", {"operation-type": "bulk", "bulk-size": 1}, corpora=[corpus], indices=indices
        )
        arguments = ("race", track, "--debug", "--corpus=declared")
        data = run(*arguments, f"--target-hosts={server.address}")
        mirror = run(
            *(*arguments, f"--target-hosts={server.address}"),
            f"--corpus-mirror={url.format(TOKEN, server.address)}",
        )
    cluster = run(*arguments, f"--target-hosts={url.format(TOKEN, '127.0.0.1:1')}")
    for code, printed, stored in (data, mirror, cluster):
        assert code == 64, printed
        assert "127.0.0.1" in printed
        assert "hunter" not in printed + stored


@pytest.mark.parametrize("url", URLS)
def test_addresses_of_repositories_and_proxies_are_shown_without_credentials(
    url: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = url.format(TOKEN, "127.0.0.1:1/r")
    (tmp_path / ".rally").mkdir()
    (tmp_path / ".rally" / "rally.ini").write_text(f"[tracks]\nmine.url = {address}\nother = {address}\n")
    repository = run("race", "--track=t", f"--track-repository={address}", "--debug")
    configured = run("race", "--track=t", "--track-repository=mine", "--debug")
    unknown = run("race", "--track=t", address, "--debug")
    assert {repository[0], configured[0], unknown[0]} == {2}
    (tmp_path / ".rally" / "rally.ini").unlink()
    track = write_track(tmp_path / "t", {"operation-type": "raw-request", "path": "/"})
    monkeypatch.setenv("http_proxy", address)
    proxy = run("race", track, "--target-hosts=192.0.2.1:9200", "--debug")
    assert proxy[0] == 64
    assert "127.0.0.1" in proxy[1]
    for _, printed, stored in (repository, configured, unknown, proxy):
        assert "hunter" not in printed + stored


@pytest.mark.parametrize(
    "hosts",
    [
        "http://me:hunter,hunter@127.0.0.1:1",
        "me:hunter/hunter@127.0.0.1:1",
        "me:hunter@hunter@127.0.0.1:1/%zz:",
        "http://me:hunter?hunter@127.0.0.1:1",
    ],
)
def test_malformed_addresses_are_not_repeated(hosts: str, run: Run, tmp_path: Path) -> None:
    track = write_track(tmp_path / "t", {"operation-type": "raw-request", "path": "/"})
    code, printed, _ = run("race", track, f"--target-hosts={hosts}", "--debug")
    assert code in (2, 64)
    assert "hunter" not in printed


def test_a_record_of_an_older_version_is_shown_without_secrets(run: Run, tmp_path: Path) -> None:
    folder = RaceStore(tmp_path / "home").create(record("old", tasks=(), complete=False))
    document = json.loads(folder.race_json.read_text())
    document["aborted"] = "cannot use http://me:hunter-url@h/x with hunter-param"
    document["verdict"] = {"state": "void", "reasons": [f"aborted: {document['aborted']}"]}
    document["track-params"] = {"token": "hunter-param"}
    document["user-tags"] = {"password": "hunter-tag", "repository": "https://hunter-token@h/x"}
    document["complete"] = True
    folder.race_json.write_text(json.dumps(document))
    for arguments in (("report", "old"), ("report", "old", "--report-format=json"), ("list", "races")):
        code, printed, _ = run(*arguments)
        assert code == 0
        assert "<hidden>" in printed
        assert "hunter" not in printed


PLUGIN = """
async def own(es, params):
    tag = params["tag"]
    if params["fails"]:
        await es.perform_request(method="GET", path="/planted", headers={"x-secret": "hunter-header"})
    return {"weight": 1, "unit": f"u-{tag}", tag: 3.0, "nested": {tag: 1.0}}

class Source:
    infinite = True

    def __init__(self, track, params, **other):
        pass

    def partition(self, index, count):
        return self

    def params(self):
        return {
            "index": "planted",
            "body": {"api_key": "hunter-body", "query": {"match_all": {}}},
            "request-params": {"access_token": "hunter-query"},
        }

def register(registry):
    registry.register_runner("own", own, async_runner=True)
    registry.register_param_source("own", Source)
"""


def test_secrets_of_python_code_are_not_stored(run: Run, tmp_path: Path) -> None:
    """They are in the results of a runner, and in operations that are built while the race runs."""

    def echo(request: HttpRequest) -> HttpResponse:
        if "planted" not in request.path:
            return json_response(engine_document(request.target))
        headers = {name: text for name, text in request.headers.items() if name.startswith("x-")}
        reason = f"cannot use {headers} {request.target} {request.body.decode()}"
        return json_response({"error": {"type": "t", "reason": reason}, "status": 400}, 400)

    own = {"operation-type": "own", "tag": "{{ my_token }}"}
    operations = {
        "succeeds": {**own, "fails": False},
        "fails": {**own, "fails": True},
        "supplied": {"operation-type": "search", "param-source": "own"},
    }
    schedule = [{"name": name, "operation": each, "iterations": 1} for name, each in operations.items()]
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    (tmp_path / "t" / "track.py").write_text(PLUGIN)
    with http_server(echo) as server:
        code, printed, stored = run(
            *("race", f"--track-path={tmp_path / 't'}", "--track-params=my_token:hunter-tag"),
            f"--target-hosts={server.address}",
        )
        sent = [request for request in server.requests if "planted" in request.path]
    assert b"hunter-body" in sent[-1].body
    assert "hunter-query" in sent[-1].target
    assert sent[0].headers["x-secret"] == "hunter-header"
    assert code == 3, printed
    assert r"u-\<hidden>" in printed
    assert "nested.<hidden>" in stored
    assert "hunter" not in printed + stored


def test_a_secret_is_hidden_wherever_a_response_is_cut(run: Run, tmp_path: Path) -> None:
    secret = "hunter-0123456789-0123456"

    def cut(request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/planted"):
            return json_response(engine_document(request.target))
        before = int(request.path.rpartition("-")[2])
        return HttpResponse(400, f"{'x' * before}{secret}{'y' * 300}".encode())

    schedule = [
        {
            "name": f"t{before}",
            "operation": {"operation-type": "raw-request", "path": f"/planted-{before}"},
            "iterations": 1,
        }
        for before in range(275, 300, 4)
    ]
    (tmp_path / "track.json").write_text(
        json.dumps({"version": 2, "description": "{{ my_token }}", "schedule": schedule})
    )
    with http_server(cut) as server:
        code, printed, stored = run(
            *("race", f"--track-path={tmp_path}", f"--track-params=my_token:{secret}"),
            f"--target-hosts={server.address}",
        )
    assert code == 3, printed
    assert "xxx" in printed
    assert "xxxhunt" not in printed + stored


def test_secrets_are_removed_from_long_lines_of_a_log(tmp_path: Path) -> None:
    folder = RaceStore(tmp_path).create(record(), secrets=frozenset({"hunter-2"}))
    log = folder.artifacts / "engine.log"
    before = "a" * ((1 << 20) - 4)
    log.write_text(f"{before}hunter-2 b\nc\n")
    folder.redact_logs()
    assert log.read_text() == f"{before}<hidden> b\nc\n"


def test_secrets_are_removed_from_the_log_of_an_engine(tmp_path: Path) -> None:
    folder = RaceStore(tmp_path).create(record(), secrets=frozenset({"hunter-2"}))
    log, other = folder.artifacts / "engine.log", folder.artifacts / "gc.log"
    log.write_bytes(b"a\n\xff uses http://me:hunter-1@h and hunter-2\n" * 3)
    other.write_bytes(b"b\n")
    before = other.stat().st_ino
    folder.redact_logs()
    assert log.read_bytes() == b"a\n\xff uses http://<hidden>@h and <hidden>\n" * 3
    assert other.stat().st_ino == before
    assert {path.name for path in folder.artifacts.iterdir()} == {"engine.log", "gc.log"}


def test_secrets_are_removed_from_the_logs_of_several_nodes(tmp_path: Path) -> None:
    folder = RaceStore(tmp_path).create(record(), secrets=frozenset({"hunter-2"}))
    outside, node = tmp_path / "outside", folder.artifacts / "rally-node-0"
    for path in (outside, node):
        path.mkdir()
        (path / "engine.log").write_text("uses hunter-2")
    (folder.artifacts / "rally-node-1").symlink_to(outside)
    folder.redact_logs()
    assert (node / "engine.log").read_text() == "uses <hidden>"
    assert (outside / "engine.log").read_text() == "uses hunter-2"
