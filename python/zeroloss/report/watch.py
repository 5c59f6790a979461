"""zeroloss report --watch: serves the page of a run in work, to this machine alone."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from .. import figures
from .document import document
from .elements import Content, Html, tag
from .live import news, stamp

ADDRESS = "127.0.0.1"


class Watch:
    """The page of a run, made anew when a file of the run has changed."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._lock = threading.Lock()
        self._stamp, self._title, self._last = "", f"watching {run}", False
        self._body: Content = tag("h1", f"Watching {run}")
        figures.renderer()

    def now(self) -> tuple[str, str, Html, bool]:
        """The stamp of what is shown, its title and body, and whether nothing more will come."""
        with self._lock:
            try:
                seen = stamp(self.run)
                if seen != self._stamp:
                    self._title, self._body, self._last = news(self.run)
                    self._stamp = seen
            except (figures.RunError, OSError):  # in the middle of a write, or of the renaming: shown as it was
                pass
            return self._stamp, self._title, self._marked(), self._last

    def _marked(self) -> Html:
        said = "This run is done." if self._last else "This page follows the run."
        return Html(tag("p", said, id="watch", class_="note", role="status", data_stamp=self._stamp,
                        data_last=self._last) + tag("div", self._body))


def server(run: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the page, on this port of this machine (0: one that is free). Raises OSError if it is taken."""
    watch = Watch(run)
    made = ThreadingHTTPServer((ADDRESS, port), type("Handler", (_Handler,), {"watch": watch}))
    made.daemon_threads = True
    return made


def serve(run: Path, port: int = 0) -> None:
    """Prints the address and serves until Ctrl-C."""
    with server(run, port) as serving:
        print(f"http://{ADDRESS}:{serving.server_port}/ follows {run}; Ctrl-C ends it", flush=True)
        try:
            serving.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            print()


class _Handler(BaseHTTPRequestHandler):
    watch: Watch

    def do_GET(self) -> None:
        port = self.connection.getsockname()[1]
        if self.headers.get("Host") not in (f"{ADDRESS}:{port}", f"localhost:{port}"):  # another site's name for us
            return self._answer(HTTPStatus.FORBIDDEN, "text/plain", "not from here")
        asked = urlsplit(self.path)
        if asked.path == "/":
            _, title, body, _ = self.watch.now()
            return self._answer(HTTPStatus.OK, "text/html", document(title, body, live=True))
        if asked.path == "/news":
            return self._news(parse_qs(asked.query).get("seen", [""])[0])
        return self._answer(HTTPStatus.NOT_FOUND, "text/plain", "no such page")

    def _news(self, seen: str) -> None:
        now, title, body, _ = self.watch.now()
        said = {} if now == seen else {"title": title, "body": body}
        return self._answer(HTTPStatus.OK, "application/json", json.dumps(said))

    def _answer(self, status: HTTPStatus, kind: str, content: str) -> None:
        data = content.encode()
        self.send_response(status)
        for name, value in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(data))),
                            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """The terminal is the user's."""
