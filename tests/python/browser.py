"""Chromium without a window, driven over its own pipe.

The DevTools protocol on file descriptors 3 and 4 needs nothing but the browser and the standard library: no port that
another program could take, no driver that has to match the browser's version, no package.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

#: As Debian and others name it; ZEROLOSS_CHROMIUM names another.
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The browser's program; None if there is none."""
    named = os.environ.get("ZEROLOSS_CHROMIUM")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A page of Chromium, cut off from every network. `requests` are all addresses it asked for, `problems` what it
    wrote to its console as errors and warnings, and the exceptions that nobody caught."""

    def __init__(self, profile: Path, timeout_s: float = 60):
        self.timeout_s, self.requests, self.problems = timeout_s, [], []
        self._count, self._unread = 0, b""
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # for pages that are served
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        self._log = open(profile / "log.txt", "wb")  # noqa: SIM115 - closed with the browser
        shell = [
            "bash",
            "-c",
            f'exec "$@" 3<&{to_browser} 4>&{from_browser}',
            "bash",
            *command,
        ]  # sh knows descriptors to 9 only
        self._process = subprocess.Popen(
            shell,
            pass_fds=(to_browser, from_browser),
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "HOME": str(profile)},
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session = None
        target = next(t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")
        self.network(offline=True)

    def network(self, offline: bool) -> None:
        """Whether every connection is refused. If not, this machine can still be reached, and no other."""
        self("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)

    def __call__(self, method: str, **parameters) -> dict:
        """Sends one command and returns its answer. Raises RuntimeError for what the browser refuses."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def evaluate(self, expression: str):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def open(self, page: Path | str, width: int, dark: bool = False, height: int = 900) -> None:
        """Opens a file or an address at this width and waits until its figures are drawn."""
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self("Page.navigate", url=address)
        end = time.monotonic() + self.timeout_s
        while self.evaluate("document.readyState") != "complete" or self.evaluate("location.href") != address:
            if time.monotonic() > end:
                raise TimeoutError(f"{address} does not load")
            time.sleep(0.05)
        self.evaluate("window.drawn")

    def point_at(self, x: float, y: float) -> None:
        """Moves the mouse to a point of the window."""
        for at in (x - 1, x):
            self("Input.dispatchMouseEvent", type="mouseMoved", x=at, y=y)
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")

    def click(self, selector: str) -> None:
        """Clicks into the middle of the first element that this selects."""
        x, y = self.evaluate(f"""(() => {{
          const found = document.querySelector({json.dumps(selector)});
          found.scrollIntoView({{block: "center"}});
          const box = found.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Presses and releases a key that has a name, Escape, ArrowRight, Enter, .., or is a letter."""
        named = {"Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Tab": 9}
        code = named.get(key) or ord(key.upper())
        text = {"text": "\r"} if key == "Enter" else {} if key in named else {"text": key}
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                 **(text if kind == "keyDown" else {}))

    def screenshot(self, path: Path) -> Path:
        """The whole page as a PNG file."""
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        image = self("Page.captureScreenshot", captureBeyondViewport=True, clip={**size, "scale": 1})
        path.write_bytes(base64.b64decode(image["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """The page as it is printed."""
        path.write_bytes(base64.b64decode(self("Page.printToPDF")["data"]))
        return path

    def close(self) -> None:
        self._session = None
        try:
            self("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._log.close()

    def _read(self) -> dict:
        end = time.monotonic() + self.timeout_s
        while b"\0" not in self._unread:
            if not select.select([self._in], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError(f"Chromium has ended; see {self._log.name}")
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict) -> None:
        method, data = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(data["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(data["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(data["args"]))
        elif method == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            self.problems.append(json.dumps(data["entry"]))
