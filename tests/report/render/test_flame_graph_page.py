"""The script of a flame graph in a browser, if Chromium is installed."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest

from pacenote.report.render.flame_graph import render_flame_graph
from report.render.test_flame_graph import graph, recording

pytestmark = pytest.mark.process

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')

DRIVER = """
const log = [];
const text = (id) => document.getElementById(id).textContent;
const lines = () => [...document.querySelectorAll("#details p")].map((line) => line.textContent);
const canvas = document.getElementById("canvas"), search = document.getElementById("search");
const press = (key) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const find = (value) => {
  search.value = value;
  search.dispatchEvent(new Event("input"));
};
const point = (kind, x, row) => {
  const area = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent(kind,
    { clientX: area.left + x * area.width, clientY: area.top + row * 19 + 9, bubbles: true }));
};
const note = () => log.push(lines());
STEPS
const out = document.createElement("pre");
out.id = "log";
out.textContent = JSON.stringify(log);
document.body.append(out);
"""

STACKS = {("a.leaf", "a.run"): 10, ("b.leaf", "a.run"): 30, ("c.other",): 60}


@pytest.fixture
def drive(tmp_path):
    """Returns a function that opens a page, executes steps in it, and returns what they noted."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: the script of the flame graph is not tested")

    def drive(page, steps=None):
        if steps is not None:
            # Only the script of the page may run otherwise.
            page = _POLICY.sub("", page).replace(
                "</body>", f"<script>{DRIVER.replace('STEPS', steps)}</script></body>"
            )
        file = tmp_path / "page.html"
        file.write_text(page)
        dom = _dump(file, tmp_path)
        match = re.search(r'<pre id="log">(.*?)</pre>', dom, re.DOTALL)
        return json.loads(html.unescape(match[1])) if match else dom

    return drive


def _dump(file, folder):
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,700"]
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_draws_under_its_own_policy(drive):
    dom = drive(render_flame_graph(graph(recording(STACKS), title="CPU <b>")))
    assert '<h1 id="title">CPU &lt;b&gt;</h1>' in dom
    assert "<p>100 samples (100.00 %)</p>" in dom


def test_keys_and_the_pointer_select_zoom_and_search(drive):
    steps = """
      canvas.focus();
      press("ArrowDown"); note();
      press("ArrowRight"); note();
      press("ArrowDown"); note();
      press("Enter");
      point("click", 0.9, 2); note();
      press("Escape"); note();
      point("mousemove", 0.7, 1); log.push(text("tooltip"));
      find("A.LEAF"); log.push(text("matches"));
      press("n"); note();
      find("a."); log.push(text("matches"));
      find("nothing"); log.push(text("matches"));
    """
    assert drive(render_flame_graph(graph(recording(STACKS))), steps) == [
        ["c.other", "60 samples (60.00 %), of which itself 60 samples (60.00 %)"],
        ["a.run", "40 samples (40.00 %)"],
        [
            "b.leaf",
            "30 samples (30.00 %), of which itself 30 samples (30.00 %)",
            "called by",
            "a.run",
        ],
        # At the zoomed frame, the whole width is that frame.
        [
            "b.leaf",
            "30 samples (30.00 %), of which itself 30 samples (30.00 %)",
            "called by",
            "a.run",
        ],
        ["all", "100 samples (100.00 %)"],
        "a.run40 samples (40.00 %)",
        "1 matched: 10.00 %",
        [
            "a.leaf",
            "10 samples (10.00 %), of which itself 10 samples (10.00 %)",
            "called by",
            "a.run",
        ],
        # The match below another one is not counted twice.
        "2 matched: 40.00 %",
        "0 matched: 0.00 %",
    ]


def test_a_baseline_is_compared_and_can_have_the_widths(drive):
    new, old = recording({("a.new",): 30, ("a.both",): 10}), recording({("a.old",): 5, ("a.both",): 5})
    steps = """
      canvas.focus();
      press("ArrowDown"); note();
      press("ArrowRight"); note();
      press("ArrowRight"); note();
      log.push(text("widths"));
      press("b"); log.push(text("widths"));
      press("Home");
      press("ArrowDown"); note();
    """
    assert drive(render_flame_graph(graph(new, old)), steps) == [
        [
            "a.new",
            "contender 30 samples (75.00 %), baseline 0 samples (0.00 %), change of share +75.00 points",
            "of which itself: contender 30 samples (75.00 %), baseline 0 samples (0.00 %)",
        ],
        both := [
            "a.both",
            "contender 10 samples (25.00 %), baseline 5 samples (50.00 %), change of share -25.00 points",
            "of which itself: contender 10 samples (25.00 %), baseline 5 samples (50.00 %)",
        ],
        both,
        "Widths: contender",
        "Widths: baseline",
        [
            "a.both",
            "contender 10 samples (25.00 %), baseline 5 samples (50.00 %), change of share -25.00 points",
            "of which itself: contender 10 samples (25.00 %), baseline 5 samples (50.00 %)",
        ],
    ]
