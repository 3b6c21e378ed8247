"""Serves a playground to tests in a browser, and takes the picture of the documentation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlext.playground.lessons import lessons
from sqlext.playground.questions import Playground
from sqlext.playground.server import PlaygroundServer
from tests.browser import chromium


@contextmanager
def served(playground: Playground) -> Iterator[str]:
    """The address of a playground while it is served."""
    server = PlaygroundServer(playground)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.address
    finally:
        server.shutdown()
        server.server_close()


def take_picture(target: Path) -> None:
    """A lesson that is solved, at one step of its search."""
    from playwright.sync_api import sync_playwright  # not among the lowest versions of the libraries

    with served(Playground(first=1)) as address, sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium())
        page = opened.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(address)
        page.wait_for_selector("#rows table")
        page.fill("#text", lessons()[0].solution)
        page.wait_for_selector("#lesson-passed:visible")
        for step in range(1, 10):
            page.click("#step-forward")
            page.wait_for_selector(f"#step-text:has-text('{step} of')")
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=str(target))
        opened.close()
