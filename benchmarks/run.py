"""Measures Pacenote and compares it with its targets: `make bench`, or `benchmarks/run.py --only NAME`.

Prints every figure, stores the results in `benchmarks/results` and rewrites the outcome in the README. A
target that is not met is printed and stored as missed; the exit code is 1 only if a benchmark could not run.
With `--quick`, runs are short and nothing is stored. A benchmark that is skipped, because a program that it
needs is not installed, does not change its stored result.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bulks
import comparing
import diagnosing
import engine_start
import experiment_races
import first_request
import gap
import gc_log
import gc_log_openj9
import generator
import html_report
import indexing
import live_display
import memory
import node_counters
import observing
import pacing
import rally
import recording
import sampling
import scheduling
import searches
import serving
import startup
import tls
import verdicts
from machine import cpu_shares_since, cpu_ticks, describe, engine_home
from outcome import BenchmarkError, Options, Outcome
from tables import markdown, read_results, rewrite

from pacenote.errors import PacenoteError

_HERE = Path(__file__).parent
_BENCHMARKS: Mapping[str, Callable[[Options], Outcome]] = {
    "startup": startup.measure,
    "engine_start": engine_start.measure,
    "first_request": first_request.measure,
    "gap": gap.measure,
    "indexing": indexing.measure,
    "generator": generator.measure,
    "searches": searches.measure,
    "bulks": bulks.measure,
    "tls": tls.measure,
    "pacing": pacing.measure,
    "scheduling": scheduling.measure,
    "rally": rally.measure,
    "rally_current": rally.measure_current,
    "memory": memory.measure,
    "comparing": comparing.measure,
    "diagnosing": diagnosing.measure,
    "html_report": html_report.measure,
    "live_display": live_display.measure,
    "serving": serving.measure,
    "gc_log": gc_log.measure,
    "gc_log_openj9": gc_log_openj9.measure,
    "sampling": sampling.measure,
    "node_counters": node_counters.measure,
    "observing": observing.measure,
    "experiment_races": experiment_races.measure,
    "recording": recording.measure,
    "verdicts": verdicts.measure,
    "planted_slowdown": verdicts.measure_slowdown,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs benchmarks and returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", choices=_BENCHMARKS, help=", ".join(_BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="short runs; nothing is stored")
    parser.add_argument("--blocks", type=int, metavar="N", help="number of blocks when tools are compared")
    given = parser.parse_args(arguments)
    command = " ".join(["benchmarks/run.py", *(arguments if arguments is not None else sys.argv[1:])])
    failed = False
    with engine_home() as engines:
        options = Options(quick=given.quick, engines=engines, blocks=given.blocks)
        for name in [given.only] if given.only else _BENCHMARKS:
            document = _run(name, options, command)
            failed = failed or document is None
            if document is not None and not given.quick:
                store(_HERE / "results", name, document)
    if not given.quick:
        # The README is written from all stored results, so that a single benchmark can be repeated.
        rewrite(_HERE / "README.md", read_results(_HERE / "results", _BENCHMARKS))
    return 1 if failed else 0


def _run(name: str, options: Options, command: str) -> Mapping[str, Any] | None:
    """Runs a benchmark and prints its results; returns None if it could not run."""
    print(f"{name} …", file=sys.stderr, flush=True)
    load, before = os.getloadavg()[0], cpu_ticks()
    try:
        outcome = _BENCHMARKS[name](options)
    except (BenchmarkError, PacenoteError, OSError) as error:
        print(f"{name} could not run: {error}", file=sys.stderr)
        return None
    shares = cpu_shares_since(before)
    document = {
        "benchmark": name,
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "quick": options.quick,
        "environment": describe(_HERE.parent),
        "processor": {
            "load_before": round(load, 2),
            "used_percent": round(shares.used, 1),
            "stolen_percent": round(shares.stolen, 1),
        },
        **outcome.to_document(),
    }
    print(markdown({name: document}), flush=True)
    return document


def store(folder: Path, name: str, document: Mapping[str, Any]) -> bool:
    """Stores the results of a benchmark; returns whether it did.

    A benchmark that was skipped, or in which a peer is missing, does not replace an earlier result.
    """
    if missing := document["skipped"] or document["incomplete"]:
        print(f"{name} is not stored: {missing}", file=sys.stderr)
        return False
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return True


if __name__ == "__main__":
    sys.exit(main())
