"""`pacenote saturate`: what is printed if the engine fails, and the exit code."""

import json
import threading
from contextlib import ExitStack

from lab.test_saturate import OPERATION, EngineThatStops
from support.http_server import http_server

SHORT = (
    *("--start-rate=2000", "--probe-time=0.05", "--probe-warmup=0.01", "--sweep-clients=0"),
    "--max-error-rate=60",
)


def test_an_engine_that_is_gone_ends_the_search_with_its_reason_and_the_probes_so_far(run, tmp_path):
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
        code, out, err = run("saturate", f"--track-path={tmp_path}", *options, params, *SHORT, "--quiet")
    assert code == 3
    assert "Traceback" not in err
    (line,) = [line for line in out.splitlines() if line.startswith("- the search ended early (")]
    assert server.address in line
    assert "| 1 | 2,000 |" in out
    assert run("report", "r")[:2] == (0, out)
