"""Races of unchanged public tracks with a real engine, in test mode and with generated data.

The tracks are cloned from GitHub. Without access to GitHub, set PACENOTE_PUBLIC_TRACKS to a folder with
checkouts of rally-tracks and rally-eventdata-track.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

ORIGIN = "https://github.com/elastic"
FETCH_S = 120

# Not supported by OpenSearch: ES|QL, term enumeration, geo_grid, relations of points other than intersects.
UNSUPPORTED = {
    "geopoint": "polygon-contains,polygon-disjoint,polygon-within,distanceFilterEQ,distanceFilterGTE,"
    "distanceFilter10kGTE,distanceFilterCount100x200,distanceFilterCount200x300,distanceFilterCount300x400,"
    "geoGrid_geohash,geoGrid_geotile,geoGrid_geohex,geoGrid_aggs_geohex,type:esql",
    "http_logs": "terms_enum",
}


@pytest.fixture(scope="session")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder that contains both repositories."""
    given = os.environ.get("PACENOTE_PUBLIC_TRACKS")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("public")
    for name in ("rally-tracks", "rally-eventdata-track"):
        clone = ["git", "clone", "--quiet", "--depth=1", f"{ORIGIN}/{name}", str(folder / name)]
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        try:
            done = subprocess.run(
                clone, capture_output=True, text=True, check=False, timeout=FETCH_S, env=environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"the public tracks cannot be fetched: {error}")
        if done.returncode:
            pytest.skip(f"the public tracks cannot be fetched: {done.stderr.strip().splitlines()[-1]}")
    return folder


@pytest.mark.parametrize(
    "track",
    [
        "rally-tracks/geonames",
        "rally-tracks/geopoint",
        "rally-tracks/http_logs",
        "rally-tracks/nested",
        "rally-tracks/noaa",
        "rally-tracks/nyc_taxis",
        "rally-tracks/percolator",
        "rally-tracks/pmc",
        "rally-eventdata-track/eventdata",
    ],
)
def test_a_public_track_runs_unchanged(home: Path, public: Path, track: str) -> None:
    name = track.partition("/")[2]
    race_id = f"public-{name}-{uuid.uuid4().hex}"
    options = [f"--track-path={public / track}", f"--race-id={race_id}", "--test-mode", "--corpus=generated"]
    if name in UNSUPPORTED:
        options.append(f"--exclude-tasks={UNSUPPORTED[name]}")
    done = subprocess.run(
        [sys.executable, "-m", "pacenote", "race", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PACENOTE_HOME": str(home)},
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((home / "races" / race_id / "race.json").read_text())
    assert record["tasks"]
    assert {task["task"]: task["error_rate"] for task in record["tasks"] if task["error_rate"]} == {}
