#!/usr/bin/env python3
"""read_site.py SITE [PART ..]: the documentation site as a reader has it, `make docs` before.

Every link of every page leads to a file and a place in it; every page opens in Chromium without a word on its console,
asks for nothing beyond the site, and fits into the width of a phone; the search finds what is looked for. With PARTs of
names, only such pages are opened. Exit code 77 where there is no site or no Chromium."""

import functools
import html.parser
import sys
import tempfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

sys.path.append(str(Path(__file__).parent / "python"))
import browser

#: What is looked for, and the page that has to be among the first three.
SEARCHES = {
    "wrong labels": "audit",
    "Fortran order": "troubleshooting",
    "ascontiguousarray": "troubleshooting",
    "cleanlab": "coming-from",
    "how wide": "width",
    "Slurm": "scale",
}


class Page(html.parser.HTMLParser):
    """The addresses that a page names, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        self.links |= {values[key] for key in ("href", "src") if values.get(key)}


def broken_links(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":  # of which nobody knows where it is shown
            continue
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.is_file():
                yield f"{path.relative_to(site)}: nothing at {link}"
            elif place and target in pages and place not in pages[target].places and place != "__top":
                yield f"{path.relative_to(site)}: no place {link}"


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def wide(window):
    """What sticks out of the window, though it cannot be scrolled by itself."""
    return window.evaluate("""document.documentElement.scrollWidth <= innerWidth ? "" :
      Array.from(document.querySelectorAll("article *"), e => [e.getBoundingClientRect().right, e.outerHTML])
        .filter(([right]) => right > innerWidth).map(([, text]) => text.slice(0, 90)).slice(0, 3).join(" | ") || "?"
    """)


def found(window, query, timeout_s=60):
    """The addresses that the search shows for a query, best first."""
    window.evaluate("""document.querySelector(".md-search__input").focus()""")
    window("Input.insertText", text=query)  # as it is typed
    end, before = time.monotonic() + timeout_s, None
    while time.monotonic() < end:
        time.sleep(0.5)
        links = window.evaluate("""Array.from(
          document.querySelectorAll(".md-search-result__item > a.md-search-result__link"), link => link.href)""")
        if links and links == before:  # no more are coming
            return links
        before = links
    return []


def pages_open(site, parts, address, window):
    names = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    for name in names:
        if parts and not any(part in name for part in parts):
            continue
        window.problems.clear()
        window.requests.clear()
        for width in (360, 1280):
            window.open(urljoin(address, name), width)
            if out := wide(window):
                yield f"{name}: wider than {width}: {out}"
        heading = window.evaluate("""document.querySelector("h1")?.innerText ?? "" """)
        if not heading:
            yield f"{name}: no heading"
        yield from (f"{name}: {problem}" for problem in window.problems)
        yield from (f"{name}: asks for {url}" for url in window.requests
                    if not url.startswith((address, "data:", "blob:")))  # fmt: skip


def search_finds(address, window):
    window.problems.clear()
    for query, wanted in SEARCHES.items():
        window.open(urljoin(address, "index.html"), 1280)
        first = found(window, query)[:3]
        if not any(wanted in link for link in first):
            yield f"search for {query}: {first}, expected {wanted}"
    yield from (f"search: {problem}" for problem in window.problems)


def main():
    site = Path(sys.argv[1]).resolve()
    if not (site / "index.html").is_file() or not browser.chromium():
        print("read_site: no site (make docs) or no Chromium (scripts/setup.sh docs)")
        sys.exit(77)
    bad = list(broken_links(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        window = browser.Browser(Path(profile))
        try:
            window.network(offline=False)
            address = f"http://127.0.0.1:{server.server_port}/"
            bad += pages_open(site, sys.argv[2:], address, window)
            bad += search_finds(address, window)
        finally:
            window.close()
            server.shutdown()
    print(*bad, sep="\n", end="\n" if bad else "")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
