"""The playground's answer to a keystroke, from the key to the frame that shows it, measured in Debian's Chromium.

    python -m benchmarks.keystroke [--rows N] [--keys N]

Each key gives another statement: it is compiled, the conditions that it changes are computed for all rows, the search
runs, and the page shows other matches. A number in DEFINE changes one condition; a variable in PATTERN gives the table
of rows another column, so that it is built anew. The first ten keys of each kind do not count.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from time import perf_counter

from playwright.sync_api import Page, sync_playwright

from sqlext.playground.answer import Json
from sqlext.playground.questions import Playground
from sqlext.playground.read_csv import csv_table
from sqlext.playground.table import Table
from tests.browser import chromium
from tests.playground.browser import served

STATEMENT = """SELECT * FROM t MATCH_RECOGNIZE (
  ORDER BY ts
  MEASURES FIRST(ts) AS begins, LAST(ts) AS ends
  PATTERN (high low+ up+ )
  DEFINE
    low AS v < PREV(v),
    up AS v > PREV(v),
    high AS v > 1
)"""
KEYS = {"a number in DEFINE": ("> 1", "0123456789"), "a variable in PATTERN": ("up+ ", "abcdefg")}  # (after it, keys)
WARM_UP = 10
PARTS = ("until the question", "Python", "HTTP", "drawing", "until the frame")
# Five times of each key, in milliseconds: of the key, of the question, of its answer, of the drawn page, of the frame.
_WATCH = """() => {
  let key = null;
  addEventListener('keydown', (event) => { key = event.timeStamp; }, { capture: true });
  const frame = new MessageChannel();
  let times = null;
  let resolve = null;
  window.nextKey = () => { window.shown = new Promise((f) => { resolve = f; }); };
  frame.port1.onmessage = () => resolve([...times, performance.now()]);
  new MutationObserver(() => {
    if (key === null) return;  // the answer to the statement itself
    const asked = performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/ask/answer')).at(-1);
    times = [key, asked.startTime, asked.responseEnd, performance.now()];
    requestAnimationFrame(() => frame.port2.postMessage(null));
  }).observe(document.body, { attributeFilter: ['data-answered'] });
}"""


class TimedPlayground(Playground):
    """Keeps how long Python took for the last answer, in milliseconds."""

    def ask(self, question: str, asked: Json) -> Json:
        began = perf_counter()
        try:
            return super().ask(question, asked)
        finally:
            if question == "answer":
                self.python_ms = (perf_counter() - began) * 1000


def rows(n: int) -> Table:
    """`n` rows, one a minute, whose values go up and down."""
    lines = [f"2026-03-{2 + i // 1440:02} {i // 60 % 24:02}:{i % 60:02}:00,{i * 7919 % 101}" for i in range(n)]
    return csv_table("\n".join(["ts,v", *lines]).encode(), "t")


def keystrokes(page: Page, playground: TimedPlayground, kind: str, keys: int) -> Iterator[list[float]]:
    """The milliseconds of each part of the answer to each of the keys."""
    before, letters = KEYS[kind]
    at = STATEMENT.index(before) + len(before)
    page.evaluate(f"document.getElementById('text').setSelectionRange({at}, {at})")
    for i in range(keys):
        page.evaluate("window.nextKey()")
        page.keyboard.press("Backspace" if i % 2 else letters[i // 2 % len(letters)])
        key, asked, answered, drawn, shown = page.evaluate("window.shown")
        python = playground.python_ms
        yield [asked - key, python, answered - asked - python, drawn - answered, shown - drawn]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keystroke")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=60, help="how many keys of each kind are pressed")
    options = parser.parse_args()
    playground = TimedPlayground(own=rows(options.rows), first=0)
    with served(playground) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(address)
        page.wait_for_selector("#rows table")
        page.fill("#text", STATEMENT)
        page.evaluate(_WATCH)
        measured = [list(keystrokes(page, playground, kind, options.keys))[WARM_UP:] for kind in KEYS]
        browser.close()
    print(f"{options.rows:,} rows, {options.keys - WARM_UP} keys of each kind, milliseconds: median, 90 %\n")
    print(f"| | {' | '.join(KEYS)} |\n|---|{'---|' * len(KEYS)}")
    columns = [zip(*([sum(parts), *parts] for parts in answers)) for answers in measured]
    for name, *cells in zip(("**from the key to the frame**", *PARTS), *columns):
        print(f"| {name} | {' | '.join(map(_summary, cells))} |")


def _summary(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f}, {sorted(times)[len(times) * 9 // 10]:.1f}"


if __name__ == "__main__":
    main()
