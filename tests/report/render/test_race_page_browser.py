"""The page of a race in a browser, if Chromium is installed: no errors, no requests, charts, accessibility.

The rules of axe-core come from the npm registry; they are not part of Pacenote.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from pacenote.report.render.race_page import render_race_page
from report.render.test_race_page import hostile, sources

pytestmark = pytest.mark.process

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NPM = shutil.which("npm")

AXE = "axe-core@4.14.1"
AXE_INTEGRITY = (
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_SERIOUS = ("serious", "critical")

PHONE, DESK = "500,900", "1280,900"
LIGHT, DARK = "1", "0"

OUT = """
function note(value) {
  const out = document.createElement("pre");
  out.id = "log";
  out.textContent = JSON.stringify(value);
  document.body.append(out);
}
"""

RUN_AXE = """
document.querySelectorAll("details").forEach((each) => { each.open = true; });
axe.run(document, { resultTypes: ["violations"] }).then((found) => note(found.violations.map((each) =>
  ({ id: each.id, impact: each.impact, nodes: each.nodes.map((node) => node.html.slice(0, 200)) }))));
"""

USE = """
const text = (id) => document.getElementById(id).textContent;
const column = (number) => [...document.querySelectorAll("#data-tasks tbody tr")]
  .map((row) => row.cells[number].textContent);
const head = (name) => [...document.querySelectorAll("#data-tasks thead button")]
  .find((button) => button.textContent === name);
const places = document.querySelectorAll(".plot");
const drawn = () => document.querySelectorAll(".plot:not(:empty)").length;
const heights = () => [...places].map((place) => place.offsetHeight);
const log = { places: places.length, first: drawn(), reserved: heights(), tasks: column(0) };
head("Throughput").click();
log.fastest = column(0);
head("Throughput").click();
log.slowest = column(0);
log.sorted = document.querySelector("[aria-sort]").getAttribute("aria-sort");
const zoom = document.getElementById("zoom");
const select = (value) => {
  zoom.value = value;
  zoom.dispatchEvent(new Event("change"));
};
// Charts that are drawn later show the selected task, too.
select("1");
const plot = document.querySelector("#chart-latency .plot");
const press = (key) =>
  plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const wait = () => new Promise((resolve) => setTimeout(resolve, 20));
(async () => {
  while (drawn() < places.length) await wait();
  log.drawn = heights();
  log.canvases = document.querySelectorAll("canvas").length;
  plot.focus();
  press("ArrowRight"); press("ArrowRight"); press("ArrowRight");
  await wait();
  log.zoomed = text("reading");
  select("");
  await wait();
  press("ArrowLeft");
  await wait();
  log.reading = text("reading");
  log.spoken = text("spoken");
  log.wide = document.documentElement.scrollWidth <= innerWidth;
  note(log);
})();
"""


@pytest.fixture
def browse(tmp_path):
    """Returns a function that opens a page, and returns its document and what the browser printed."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: the page of a race is not tested in a browser")

    def browse(page: str, script: str = "", size: str = DESK, scheme: str = LIGHT):
        if script:
            # Only the script of the page may run otherwise.
            page = _POLICY.sub("", page).replace("</body>", f"<script>{OUT}{script}</script></body>")
        file = tmp_path / "page.html"
        file.write_text(page, "utf-8")
        assert CHROMIUM is not None
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={size}"]
        command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom"]
        command += ["--enable-logging=stderr", f"--blink-settings=preferredColorScheme={scheme}"]
        done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout, [entry for entry in done.stderr.splitlines() if "CONSOLE" in entry]

    return browse


def logged(dom: str):
    """Returns what the script of a test noted."""
    match = re.search(r'<pre id="log">(.*?)</pre>', dom, re.DOTALL)
    assert match, "the script did not end"
    return json.loads(html.unescape(match[1]))


@pytest.fixture(scope="session")
def axe(tmp_path_factory) -> str:
    """Returns the script of axe-core, which is kept in the home of the tests if there is one."""
    if NPM is None:
        pytest.skip("npm is not installed: the accessibility of the page is not tested")
    home = os.environ.get("PACENOTE_TEST_HOME")
    folder = Path(home) / "npm" if home else tmp_path_factory.mktemp("npm")
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{AXE.replace('@', '-')}.tgz"
    if not archive.exists():
        done = subprocess.run(
            [NPM, "pack", AXE, "--pack-destination", str(folder)], capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            pytest.skip(f"axe-core cannot be fetched: {done.stderr.splitlines()[-1]}")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    assert f"sha512-{digest}" == AXE_INTEGRITY
    with tarfile.open(archive) as package:
        script = package.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode().replace("</script", "<\\/script")


@pytest.mark.parametrize("make", [sources, hostile])
def test_the_page_has_no_errors_under_its_own_policy(browse, make):
    dom, console = browse(render_race_page(make()))
    assert console == []
    assert dom.count("<canvas") >= 5


def test_charts_tables_and_the_keyboard_work(browse):
    dom, console = browse(render_race_page(sources()), USE)
    assert console == []
    log = logged(dom)
    assert log["canvases"] >= 8
    assert log["tasks"] == ["index-append", "term", "search"]
    assert log["fastest"][0] == "index-append"
    assert log["slowest"][-1] == "index-append"
    assert log["sorted"] == "ascending"
    assert re.match(r"0:2\d\.\d · term$", log["zoomed"]), log["zoomed"]
    assert re.match(r"0:0\d\.\d · index-append$", log["reading"]), log["reading"]
    assert "p50 20 ms" in log["spoken"]
    assert log["wide"]


def test_charts_outside_the_window_are_drawn_later_in_their_places(browse):
    dom, _ = browse(render_race_page(sources()), USE)
    log = logged(dom)
    assert log["first"] < log["places"] / 2
    assert log["reserved"] == log["drawn"]


@pytest.mark.parametrize("size", [PHONE, DESK])
@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_the_page_is_accessible(browse, axe, size, scheme):
    dom, _ = browse(render_race_page(sources()), f"{axe}\n{RUN_AXE}", size, scheme)
    violations = logged(dom)
    assert [each for each in violations if each["impact"] in _SERIOUS] == []
