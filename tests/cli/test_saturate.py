"""`pacenote saturate`: what is printed if the engine or the driver fails, and the exit code."""

import json
import shutil
import ssl
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.test_saturate import OPERATION, EngineThatStops
from pacenote.errors import UsageError
from pacenote.lab.saturate import Saturation
from pacenote.store.race_store import RaceStore
from plugins.tracks import write_track
from python_tasks.racing import serving
from python_tasks.test_runtime_hangs import INCOMPARABLE
from report.test_saturation import FOUND
from support.engine import engine_document
from support.http_server import http_server, json_response
from support.records import record
from support.secure import CA, CERTIFICATES

pytestmark = pytest.mark.process

SHORT = (
    *("--start-rate=2000", "--probe-time=0.05", "--probe-warmup=0.01", "--sweep-clients=0"),
    "--max-error-rate=60",
)


def test_an_engine_that_is_gone_ends_the_search_with_its_reason_and_the_probes_so_far(run, home, tmp_path):
    engine = EngineThatStops(160, refuses=True)
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [{"operation": OPERATION}]}))
    with ExitStack() as stack:
        server = stack.enter_context(http_server(engine.respond))

        def shut_down() -> None:
            engine.over.wait(20)
            stack.close()

        threading.Thread(target=shut_down, daemon=True).start()
        options = ("--pipeline=benchmark-only", f"--target-hosts={server.address}", "--race-id=r")
        params = "--track-params=api_key:x"
        quiet = ("--quiet", "--no-html")
        code, out, err = run("saturate", f"--track-path={tmp_path}", *options, params, *SHORT, *quiet)
    assert code == 3
    assert not (home / "races" / "r" / "report.html").exists()
    assert "Traceback" not in err
    (line,) = [line for line in out.splitlines() if line.startswith("- the search ended early (")]
    assert server.address in line
    assert "| 1 | 2,000 |" in out
    assert run("report", "r")[:2] == (0, out)
    to_file = ("--report-format=json", f"--report-file={tmp_path / 'found.json'}")
    notes = [run("report", "r", *to_file)[2] for _ in range(2)]
    other = f"the report is in {tmp_path / 'found-2.json'}, because found.json has one\n"
    assert notes == ["", other]


def test_an_error_of_the_driver_follows_the_result_of_the_search(run, tmp_path):
    authorities = Path(shutil.copy(CA, tmp_path / "ca.pem"))

    def respond(request):
        if request.path == "/x":
            authorities.unlink(missing_ok=True)
        return json_response(engine_document(request.target))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [{"operation": OPERATION}]}))
    with http_server(respond, tls=context) as server:
        options = (f"--target-hosts=https://{server.address}", f"--client-options=ca_certs:{authorities}")
        params = ("--track-params=api_key:x", "--pipeline=benchmark-only", "--race-id=r")
        code, out, err = run("saturate", f"--track-path={tmp_path}", *options, *params, *SHORT, "--quiet")
    assert code == 64
    assert "| 1 | 2,000 |" in out
    (line,) = [line for line in out.splitlines() if line.startswith("- the search ended early (")]
    reason = line.partition("(")[2].partition("): the interval")[0]
    assert err.splitlines()[-1] == f"error: {reason}"
    assert str(authorities) in reason
    assert run("report", "r")[:2] == (0, out)


def test_a_defect_in_the_tasks_before_the_search_could_not_run_as_in_a_race(run, tmp_path):
    schedule = [{"operation": "run", "iterations": 2}, {"operation": OPERATION}]
    root = write_track(tmp_path, {"track.py": INCOMPARABLE}, {"schedule": schedule})
    codes = {}
    with serving() as server:
        options = (f"--track-path={root}", f"--target-hosts={server.address}", "--pipeline=benchmark-only")
        for command, more in (("race", ()), ("saturate", SHORT)):
            params = ("--track-params=api_key:x", f"--race-id={command}", "--quiet")
            code, _, err = run(command, *options, *params, *more)
            assert "error: a defect of Pacenote ended the track's Python code" in err
            codes[command] = code
    assert codes == {"race": 64, "saturate": 64}


def test_ctrl_c_before_the_search_is_reported_as_that_of_a_race(run, home, monkeypatch):
    def interrupt(request, listener):
        folder = home / "races" / request.race.race_id
        folder.mkdir(parents=True)
        (folder / "race.json").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("pacenote.lab.saturate.saturate", interrupt)
    code, out, err = run("saturate", "--track=x")
    assert (code, out) == (130, "")
    assert err == "error: interrupted\nhint: results so far are kept: see `pacenote list races`\n"


def test_a_search_is_in_the_metrics_store_when_it_has_ended(run, home, monkeypatch, metrics_store):
    def search(request, listener):
        race = record("r1")
        RaceStore(home).create(race).finish(race)
        return Saturation(race, FOUND)

    monkeypatch.setattr("pacenote.lab.saturate.saturate", search)
    run("saturate", "--track=x", "--no-metrics-store")
    assert not metrics_store.documents("rally-races-v1")
    shutil.rmtree(home / "races" / "r1")
    run("saturate", "--track=x")
    (stored,) = metrics_store.documents("rally-races-v1")
    assert stored["race-id"] == "r1"


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ((), 94.0),
        (("--probe-time=40",), 47.0),
        (("--objective=p99.9:1s",), 940.0),
        (("--max-error-rate=100",), 10.0),
        (("--max-rate=40",), 40.0),
        (("--start-rate=20",), 20.0),
    ],
)
def test_a_search_begins_at_the_lowest_rate_whose_probes_are_short(run, monkeypatch, options, start):
    requests = []

    def stop(request, listener):
        requests.append(request)
        raise UsageError("stopped")

    monkeypatch.setattr("pacenote.lab.saturate.saturate", stop)
    assert run("saturate", "--track=x", *options)[0] == 2
    (request,) = requests
    assert request.within.start == start


def test_a_search_refuses_to_shorten_the_windows_of_its_probes(run):
    code, _, error = run("saturate", "--track=x", "--warmup-drain")
    assert code == 2
    assert "saturate measures the whole window of each probe, without --warmup-drain" in error
