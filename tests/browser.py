"""A browser for tests: `browser_page` is a page of Debian's Chromium, `axe` looks for accessibility problems in it.

A test that takes `browser_page` is skipped with a reason where Chromium is missing. `.ci/run` installs it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_AXE = Path(__file__).parents[1] / ".venv/axe/node_modules/axe-core/axe.min.js"
COLOURS = ("color-contrast", "link-in-text-block")  # the rules of axe-core that depend on colours
_FINISH = "for (const running of document.getAnimations()) if (running instanceof CSSTransition) running.finish()"
_SERIOUS = """async (rules) => (await axe.run(rules ? { runOnly: rules } : {})).violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .flatMap(found => found.nodes.map(node => `${found.id}: ${found.help}: ${node.target.join(" ")}`))"""


def chromium() -> str | None:
    """The path of Chromium, which SQLEXT_CHROMIUM may name; None if there is none."""
    return os.environ.get("SQLEXT_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@pytest.fixture(scope="module")  # while it runs, this thread has an event loop, which other modules do not expect
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("Chromium is missing: apt-get install chromium, or name it in SQLEXT_CHROMIUM")
    playwright_api = pytest.importorskip("playwright.sync_api")  # the lowest versions of the libraries come without it
    with playwright_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path)
        yield opened
        opened.close()


@pytest.fixture
def problems() -> list[str]:
    """What went wrong in `browser_page`: errors of scripts and of the console, and requests to other machines.

    A test ends with an error unless the list is empty; one that provokes problems compares and clears it.
    """
    return []


@pytest.fixture
def browser_page(browser: Browser, problems: list[str]) -> Iterator[Page]:
    """An empty page of 1400 × 900 pixels, with a profile of its own."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("console", lambda line: problems.append(f"console: {line.text}") if line.type == "error" else None)
    page.on("request", lambda request: problems.append(f"request: {request.url}") if _is_far(request.url) else None)
    yield page
    context.close()
    assert problems == []


def _is_far(url: str) -> bool:
    """Whether a request leaves this machine.

    >>> _is_far("https://example.com/a.js"), _is_far("http://127.0.0.1:8000/a.js"), _is_far("data:,a")
    (True, False, False)
    """
    host = urlsplit(url).hostname
    return host is not None and host not in ("127.0.0.1", "localhost")


def axe(page: Page, rules: Sequence[str] | None = None) -> list[str]:
    """The serious and critical accessibility problems that axe-core finds in the page as it is now, by all its rules or
    by these.

    It skips the test where axe-core is missing. It works under any Content-Security-Policy. Colours that are changing
    are what they change to.
    """
    page.evaluate(_axe_source())
    page.evaluate(_FINISH)
    return page.evaluate(_SERIOUS, rules)


@cache
def _axe_source() -> str:
    if not _AXE.is_file():
        pytest.skip("axe-core is missing: make .venv/axe/installed, which needs npm")
    return _AXE.read_text("utf-8")


def is_too_wide(page: Page) -> bool:
    """Whether the page scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which the files of a folder are served on this machine."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
