"""The page in a browser, by clicking and typing."""

import base64
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.playground.lessons import lessons
from sqlext.playground.questions import Playground
from sqlext.playground.read_csv import csv_table
from tests.browser import COLOURS, axe, is_too_wide
from tests.playground.browser import served

ROWS = "ts,v\n" + "".join(f"2026-03-02 {i // 60:02}:{i % 60:02}:00,{i * 7919 % 101}\n" for i in range(1000))
SCRIPT = 'ts,v,text\n1,2,"<script>document.title = 1</script><img src=x onerror=alert(1)>"\n2,3,b\n'


@pytest.fixture(scope="module")
def address():
    with served(Playground()) as found:
        yield found


def ready(page, address):
    page.goto(address)
    page.wait_for_selector("#rows table")


def test_all_lessons_are_passed_by_typing_and_clicking(browser_page, address):
    page = browser_page
    ready(page, address)
    for lesson in lessons():
        page.wait_for_selector(f"#lesson-title:has-text('Lesson {lesson.number} of')")
        assert page.is_hidden("#lesson-passed")
        page.click("#text")
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(lesson.solution)
        page.wait_for_selector("#lesson-passed:visible")
        if lesson.number < len(lessons()):
            page.click("#next-lesson")
    assert page.locator("#tables option", has_text="✓").count() == 10


def test_an_error_has_a_caret_under_its_place(browser_page, address):
    page = browser_page
    ready(page, address)
    page.click("#text")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("-- 🐛\n" + lessons()[0].statement.replace("price < PREV", "/* 🐛 */ prise < PREV"))
    page.wait_for_selector(".error pre")
    line, carets = page.inner_text(".error pre").split("\n")[:2]
    assert line[carets.index("^") : carets.rindex("^") + 1] == "prise"
    assert page.inner_text("#behind .e") == "prise"
    page.click("text=About SQLEXT_UNRESOLVED_COLUMN")
    page.wait_for_selector(".error .page h3:has-text('Cure')")


def test_what_an_erroneous_statement_shows_is_marked_as_older(browser_page, address):
    page = browser_page
    ready(page, address)
    page.click("#step-forward")
    page.wait_for_selector("#behind .lit")
    page.fill("#text", lessons()[0].statement.replace("price", "prise"))
    page.wait_for_selector("#stale:visible")
    assert page.locator("#behind .lit").count() == 0
    page.fill("#text", lessons()[0].statement)
    page.wait_for_selector("#stale", state="hidden")


def test_what_is_typed_while_rows_come_disturbs_neither_the_old_nor_the_new_rows(browser_page, address):
    page = browser_page
    held = []
    page.route("**/ask/rows", lambda route: held.append(route))
    with page.expect_request("**/ask/rows"):
        page.goto(address)
    typed(page, lessons()[0].solution)
    held.pop().continue_()
    page.wait_for_selector("#rows table")
    page.wait_for_selector("#summary:has-text('match')")
    assert page.input_value("#text") == lessons()[0].statement
    assert page.locator("#tables option", has_text="✓").count() == 0
    with page.expect_request("**/ask/rows"):
        page.select_option("#tables", "2")
    typed(page, lessons()[0].solution)
    page.wait_for_selector("#lesson-passed:visible")  # of lesson 1, whose rows are still there
    held.pop().continue_()
    page.wait_for_selector("#lesson-title:has-text('Lesson 2 of')")
    page.wait_for_selector("#summary:has-text('match')")
    assert page.input_value("#text") == lessons()[1].statement
    assert page.is_hidden("#lesson-passed")


def typed(page, text):
    """Type a text in place of the statement, and wait for the question about it."""
    page.click("#text")
    page.keyboard.press("Control+A")
    with page.expect_response("**/ask/answer"):
        page.keyboard.insert_text(text)


def test_the_page_works_where_nothing_may_be_kept(browser_page, address):
    page = browser_page
    page.add_init_script("delete window.localStorage")
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })")
    ready(page, address)
    page.fill("#text", lessons()[0].solution)
    page.wait_for_selector("#lesson-passed:visible")
    assert page.locator("#tables option", has_text="✓").count() == 1


def test_the_search_steps_forward_and_back(browser_page, address):
    page = browser_page
    ready(page, address)
    for button, step in (("forward", 1), ("forward", 2), ("forward", 3), ("back", 2)):
        page.click(f"#step-{button}")
        page.wait_for_selector(f"#step-text:has-text('{step} of')")
    assert page.locator("#automaton .is-now").count() == 1


def test_the_watermark_emits_matches_and_keeps_rows(browser_page, address):
    page = browser_page
    ready(page, address)
    page.check("#as-stream")
    page.wait_for_selector("#stream-text:has-text('0 of 5')")
    page.focus("#watermark")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#stream-text:has-text('1 of 5 matches have been emitted')")
    page.keyboard.press("End")
    page.wait_for_selector("#stream-text:has-text('0 are after the watermark')")


def test_a_row_says_why_and_buttons_edit_the_text(browser_page, address):
    page = browser_page
    ready(page, address)
    page.click("#rows button >> nth=13")
    page.wait_for_selector("#why-lines li:has-text('match')")
    page.click("text=Reluctant")
    page.wait_for_selector(f"#behind:has-text({'down+?'!r})")
    page.click("text=Relaxed")
    page.wait_for_selector(f"#behind:has-text({'-> down+?'!r})")


def asked_row(url):
    """The row whose reason the page shows, by its address."""
    kept = url.partition("#")[2]
    return json.loads(base64.urlsafe_b64decode(kept + "=" * (-len(kept) % 4)))["row"] if kept else None


def test_a_link_shows_the_same(browser_page, address):
    page = browser_page
    ready(page, address)
    page.click("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type(" -- mine")
    page.click("#rows button >> nth=3")
    page.wait_for_selector("#why-lines li")
    page.wait_for_url(lambda url: asked_row(url) == 3)
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("#why-lines li")
    assert page.input_value("#text").endswith(" -- mine")


def tab_to(page, name):
    """Move the focus by Tab to the first element after it with this id."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_lesson_is_passed_with_the_keyboard_alone(browser_page, address):
    page = browser_page
    ready(page, address)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link to the statement
    page.wait_for_selector("#text:focus")
    for key in ("Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", "End", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.type(" up+")  # PATTERN (start down+ up+)
    page.keyboard.press("Escape")
    for key in ("ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
    page.keyboard.type(",\nup AS pri")
    page.wait_for_selector("#completions:visible")
    page.keyboard.press("Tab")  # price
    page.keyboard.type(" > PREV(price)")
    page.wait_for_selector("#lesson-passed:visible")
    tab_to(page, "skip")
    page.keyboard.press("ArrowDown")  # SKIP TO NEXT ROW
    page.wait_for_selector("#behind:has-text('AFTER MATCH SKIP TO NEXT ROW')")
    tab_to(page, "step-forward")
    page.keyboard.press("Enter")
    page.wait_for_selector("#step-text:has-text('1 of')")
    tab_to(page, "as-stream")
    page.keyboard.press("Space")
    tab_to(page, "watermark")
    page.keyboard.press("End")
    page.wait_for_selector("#stream-text:has-text('0 are after the watermark')")
    while "Why" not in page.evaluate("document.activeElement.ariaLabel ?? ''"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#why-lines li")


def test_a_proposed_word_is_taken_by_tab(browser_page, address):
    page = browser_page
    ready(page, address)
    page.click("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type(" pri")
    page.wait_for_selector("#completions [data-name=price]")
    page.keyboard.press("Tab")
    assert page.input_value("#text").endswith(" price")


def test_a_proposed_function_is_described(browser_page, address):
    page = browser_page
    ready(page, address)
    page.click("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type(" nvl")
    page.wait_for_selector("#completions [data-name=nvl2]:has-text('→ unset')")
    assert not is_too_wide(page)


def test_nothing_is_wider_than_a_narrow_screen(browser_page, address):
    page = browser_page
    page.set_viewport_size({"width": 400, "height": 800})
    ready(page, address)
    assert not is_too_wide(page)


@pytest.mark.parametrize("scheme, rules", [("light", None), ("dark", COLOURS)])  # in the dark, colours are what differs
def test_a_page_has_no_serious_problem_of_accessibility(browser_page, address, scheme, rules):
    page = browser_page
    page.emulate_media(color_scheme=scheme)
    ready(page, address)
    assert axe(page, rules) == []
    page.check("#as-stream")
    page.click("#step-forward")
    page.click("#rows button >> nth=5")
    page.wait_for_selector("#why-lines li")
    assert axe(page, rules) == []


def dropped(page, name, content):
    page.evaluate(
        """([name, bytes]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
          document.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [name, list(content)],
    )


def test_rows_are_dropped_opened_and_pasted(browser_page):
    page = browser_page
    with served(Playground()) as address:
        ready(page, address)
        dropped(page, "days.csv", b"day,price\n1,5\n2,NA\n3,7\n4,8\n")
        page.wait_for_selector("#table-note:has-text('4 rows of days. price: 1 value NA, which is NULL here')")
        page.wait_for_selector("#summary:has-text('1 match')")
        parquet = io.BytesIO()
        pq.write_table(pa.table({"at": [1, 2], "v": [1.5, 2.5]}), parquet)
        page.set_input_files("#file", {"name": "v.parquet", "mimeType": "", "buffer": parquet.getvalue()})
        page.wait_for_selector("#table-note:has-text('2 rows of v.')")
        page.evaluate(
            """text => {
              const clipboardData = new DataTransfer();
              clipboardData.setData('text/plain', text);
              document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
            }""",
            "a\tb\n1\t2\n",
        )
        page.wait_for_selector("#table-note:has-text('1 row of pasted.')")
        dropped(page, "bad.json", b'{"a": 1}\n{"a": "NA"}\n')
        page.wait_for_selector(".error:has-text('a is a number, and a string in row 2')")
        assert page.input_value("#tables") == "own" and "pasted" in page.input_value("#text")
        assert axe(page) == []


def test_markup_in_a_csv_is_text(browser_page):
    page = browser_page
    with served(Playground(own=csv_table(SCRIPT.encode(), "t"), first=0)) as address:
        ready(page, address)
        assert "<script>" in page.inner_text("#rows")
        assert page.title() == "sqlext playground"
        assert page.locator("#rows img").count() == 0


def test_each_keystroke_over_a_thousand_rows_is_answered(browser_page):
    page = browser_page
    with served(Playground(own=csv_table(ROWS.encode(), "t"), first=0)) as address:
        ready(page, address)
        page.click("#text")
        page.keyboard.press("Control+End")
        for _ in range(3):
            page.evaluate("delete document.body.dataset.answered")
            page.keyboard.type(" ")
            page.wait_for_selector("[data-answered]")
