"""No file of a race, and nothing that it prints, contains a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest

from pacenote.cli.main import main
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

NAMES = (
    *("client_secret", "aws_secret", "secret", "passwd", "pwd", "passphrase", "private_key", "credentials"),
    *("account_key", "sas", "auth", "connection_string", "token", "password", "api_key", "secret_key"),
    *("clientSecret", "privateKey", "AccountKey", "connection-string", "SASToken", "x-auth"),
)


def echo(request: HttpRequest) -> HttpResponse:
    """Rejects each request of the track and repeats it in the reason, as an engine may do."""
    if request.path != "/planted":
        return json_response(engine_document(request.target))
    reason = f"cannot use {request.target} {request.body.decode()}"
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
    body["settings"]["plain"] = "kept-readable {{ secret }}"
    operation = {
        "operation-type": "raw-request",
        "method": "POST",
        "path": "/planted?token=hunter-q-00&pretty=true",
        "body": body,
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
            f"--target-hosts=http://me:hunter-host@{server.address}",
            f"--user-tags={json.dumps({'token': 'hunter-tag', 'team': 'search'})}",
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
