"""Pages with drawings in a browser, if Chromium is installed: one start for all pages.

The pages are frames of one document, because the narrowest window of Chromium is wider than a phone.
"""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape

import pytest

from pacenote.report.render.page import render_page
from report.render.test_drawing import HOSTILE_PAGES, PAGES
from report.render.test_race_page_browser import CHROMIUM, RUN_AXE, axe

pytestmark = pytest.mark.process

__all__ = ["axe"]

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_DARK = "@media screen and (prefers-color-scheme: dark)"
_VIEWS = ((390, "dark"), (1280, "light"))
"""Width and scheme of each frame: neither changes what the other one shows."""

_EXAMINED = ("comparison", "matrix", "tune", "saturation", "trend")
"""Pages that have all kinds of blocks and drawings."""

_SERIOUS = ("serious", "critical")

_NOTE = """
const note = (found) => parent.postMessage({ name: "@@NAME@@", found,
  isWide: document.documentElement.scrollWidth > innerWidth }, "*");
"""
_COLLECT = """
const found = {};
addEventListener("message", ({ data }) => {
  found[data.name] = data;
  const out = document.getElementById("log");
  out.textContent = JSON.stringify(found);
});
"""


def framed(name: str, page: str, rules: str, scheme: str) -> str:
    """Returns a page that reports to the document around it. The policy would not allow the script."""
    if scheme == "dark":
        page = page.replace(_DARK, "@media all")
    script = f"{_NOTE.replace('@@NAME@@', name)}{rules}\n{RUN_AXE}"
    return _POLICY.sub("", page).replace("</body>", f"<script>{script}</script></body>")


def browse(folder, document: str) -> tuple[str, list[str]]:
    """Opens a document, and returns it after its scripts have run, and what the browser printed."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: pages with drawings are not tested in a browser")
    (folder / "all.html").write_text(document, "utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"]
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000", "--dump-dom"]
    command += ["--allow-file-access-from-files", "--enable-logging=stderr"]
    done = subprocess.run(
        [*command, (folder / "all.html").as_uri()], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, [entry for entry in done.stderr.splitlines() if "CONSOLE" in entry]


def test_pages_are_accessible_at_every_width_and_obey_their_policy(tmp_path, axe):
    frames, expected = [], set()
    for name, make in PAGES.items():
        page = render_page(make())
        (tmp_path / f"own-{name}.html").write_text(page, "utf-8")
        frames.append(f'<iframe src="own-{name}.html" width=1280 height=800></iframe>')
        for width, scheme in _VIEWS if name in _EXAMINED else ():
            key = f"{name}-{width}-{scheme}"
            expected.add(key)
            (tmp_path / f"{key}.html").write_text(framed(key, page, axe, scheme), "utf-8")
            frames.append(f'<iframe src="{key}.html" width={width} height=800></iframe>')
    for name, make in HOSTILE_PAGES.items():
        (tmp_path / f"hostile-{name}.html").write_text(render_page(make()), "utf-8")
        frames.append(f'<iframe src="hostile-{name}.html" width=390 height=800></iframe>')
    dom, console = browse(tmp_path, f"<pre id=log></pre><script>{_COLLECT}</script>{''.join(frames)}")
    assert console == []
    logged = re.search(r'<pre id="log">(.*?)</pre>', dom, re.DOTALL)
    assert logged, "the scripts did not end"
    results = json.loads(unescape(logged[1]))
    assert results.keys() == expected
    serious = {
        name: own
        for name, each in results.items()
        if (own := [one for one in each["found"] if one["impact"] in _SERIOUS])
    }
    assert serious == {}
    assert [name for name, each in results.items() if each["isWide"]] == []
