"""The built site in a browser: it works without a network, on a phone and in the dark, and for who cannot see it."""

from __future__ import annotations

import re

import pytest

from tests.browser import COLOURS, axe, is_too_wide, served

PAGES = (
    "index.html",
    "troubleshooting.html",
    "language.html",
    "cookbook/index.html",
    "cookbook/v-shape.html",
    "errors/index.html",
    "api.html",
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(site):
    with served(site) as address:
        yield address


@pytest.mark.parametrize("scheme, rules", [("light", None), ("dark", COLOURS)])  # in the dark, colours are what differs
def test_no_page_scrolls_sideways_or_has_a_serious_problem_of_accessibility(browser_page, address, scheme, rules):
    browser_page.emulate_media(color_scheme=scheme)
    found = []
    for name in PAGES:
        browser_page.goto(f"{address}/{name}")
        for width in (400, 1400):
            browser_page.set_viewport_size({"width": width, "height": 900})
            if is_too_wide(browser_page):
                found.append((name, width, "too wide"))
        found += [(name, problem) for problem in axe(browser_page, rules)]
    assert found == []


def test_the_page_is_dark_where_the_system_is(browser_page, address):
    colours = []
    for scheme in ("light", "dark"):
        browser_page.emulate_media(color_scheme=scheme)
        browser_page.goto(f"{address}/language.html")
        colours.append(browser_page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(map(int, colour[4:-1].split(","))) for colour in colours)
    assert dark < 200 < 600 < light


def test_search_finds_a_rule_in_files_that_nothing_serves(browser_page, site):
    browser_page.goto((site / "index.html").as_uri())
    browser_page.keyboard.press("/")
    browser_page.keyboard.type("skip to next row")
    browser_page.get_by_text(re.compile(r"\d+ results")).wait_for()
