"""A headless Chromium that other scripts drive, and how long it takes to open a page.

    python scripts/browser.py PAGE.html

prints a JSON object with milliseconds since the browser began to load the page: `parsed` (the document, whose
script has run), `painted` (the next frame, with what is in the window) and `drawn` (all charts, also those
below the window).

The browser is driven through two pipes with the DevTools protocol, so that no port is opened and nothing has
to be installed besides Chromium.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--remote-debugging-pipe", "--force-color-profile=srgb"),
    "--disable-lcd-text",
)

_CLOSE_S = 5.0
"""Seconds that the browser has to end."""

_OPENED = """
new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const parsed = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
  const painted = performance.now();
  const wait = () => document.querySelector(".plot:empty")
    ? setTimeout(wait, 5) : resolve({ parsed, painted, drawn: performance.now() });
  wait();
})))
"""

Scheme = Literal["light", "dark"]
"""The colour scheme that the browser prefers."""


def find_chromium() -> str | None:
    """Returns the path of the browser, or None if it is not installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """A running browser with one page."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def take_pipes() -> None:
            # The browser reads from descriptor 3 and writes to 4; the pipes may have these numbers now.
            reading, writing = (os.dup(number) for number in (to_browser, from_browser))
            reading, writing = (number if number > 4 else os.dup(number) for number in (reading, writing))
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [program, *_OPTIONS, f"--user-data-dir={self._profile.name}", "about:blank"],
            preexec_fn=take_pipes,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._read = b""
        self._number = 0
        self._session = ""
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        self._call("Page.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the browser and removes its profile."""
        with contextlib.suppress(RuntimeError, OSError, subprocess.TimeoutExpired):
            # Otherwise its processes would still write to the profile.
            self._call("Browser.close")
            self._process.wait(_CLOSE_S)
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def resize(self, width: int, height: int, scheme: Scheme = "light") -> None:
        """Sets the size of the page in pixels, and the colour scheme."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", {"features": [feature]})

    def open(self, page: Path) -> dict[str, float]:
        """Opens a file and returns how long that took, in milliseconds by what was done then."""
        self._call("Page.navigate", {"url": page.absolute().as_uri()}, until="Page.loadEventFired")
        opened: dict[str, float] = self.evaluate(_OPENED)
        return opened

    def evaluate(self, script: str) -> Any:
        """Returns the value of an expression, or of the promise that it is."""
        options = {"expression": script, "awaitPromise": True, "returnByValue": True}
        reply = self._call("Runtime.evaluate", options)
        if "exceptionDetails" in reply:
            raise RuntimeError(f"the page raised {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def screenshot(self) -> bytes:
        """Returns what the browser shows, as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", {"format": "png"})["data"])

    def _call(
        self, method: str, parameters: Mapping[str, Any] | None = None, until: str = ""
    ) -> dict[str, Any]:
        """Calls a method and returns its result, if given after an event with the name `until`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        result: dict[str, Any] | None = None
        while result is None or until:
            reply = self._next_message()
            if reply.get("id") == self._number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']['message']}")
                result = reply["result"]
            if reply.get("method") == until:
                until = ""
        return result

    def _next_message(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            if not (data := os.read(self._in, 1 << 20)):
                raise RuntimeError("the browser has ended")
            self._read += data
        message, _, self._read = self._read.partition(b"\0")
        content: dict[str, Any] = json.loads(message)
        return content


def main() -> None:
    """Prints how long a page takes to open."""
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/browser.py PAGE.html")
    program = find_chromium()
    if program is None:
        sys.exit("Chromium is not installed")
    with Browser(program) as browser:
        browser.resize(1280, 900)
        sys.stdout.write(f"{json.dumps(browser.open(Path(sys.argv[1])))}\n")


if __name__ == "__main__":
    main()
