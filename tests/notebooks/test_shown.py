"""What notebooks show of tables, drawings and warnings: pure text."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from html import escape, unescape

import pandas as pd
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from sqlext.cli.main import main
from sqlext.notebooks.draw_matches import Drawing, DrawnMiss, Panel, panels_of, picture
from sqlext.notebooks.drawing_query import MATCH, VARIABLE, DrawingQuery
from sqlext.notebooks.drawn_rows import DrawnRows
from sqlext.notebooks.html_table import html_table
from sqlext.notebooks.magics import load
from sqlext.notebooks.shown_table import ShownTable
from sqlext.spark.user_warnings import warn

EXTERNAL = re.compile(r"""\b(?:src|href)=["'](?!#)|@import|url\((?!#)""")


def test_a_table_needs_nothing_from_elsewhere_and_follows_light_and_dark():
    text = html_table([("n", True), ("t", False)], [["1", "x"], [None, "<b>"]], "2 rows")
    assert EXTERNAL.search(text) is None and "<script" not in text
    for rule in ("prefers-color-scheme: dark", "max-height: 480px", "position: sticky", "overflow: auto"):
        assert rule in text
    assert "aria-sort" in unescape(re.search(r'<thead onclick="([^"]*)"', text)[1])
    assert "&lt;b&gt;" in text and '<td class="number null">NULL</td>' in text


def test_a_long_text_is_cut_and_is_whole_under_the_pointer():
    whole = 'say "x"\n' + "y" * 100
    text = html_table([("t", False)], [["short"], [whole]], "2 rows")
    ((title, shown),) = re.findall(r'<div class="long" tabindex="0" title="([^"]*)">([^<]*)</div>', text)
    assert unescape(title) == unescape(shown) == whole
    assert '<td class="text">short</td>' in text


def test_a_report_is_shown_whole_in_a_fixed_font():
    report = "MATCH_RECOGNIZE over t\n  strategy: <automaton>  " + "x" * 100
    html = ShownTable(frame=None, rows=[[report]], limit=100)._repr_html_()
    assert f"<pre>{escape(report)}</pre>" in html and "<table" not in html


def test_a_drawing_is_svg_in_the_colours_of_the_page():
    labels = {MATCH: [1, 1, None, None], VARIABLE: ["a", "b", None, None]}
    panels = [Panel("symbol A & B", pd.DataFrame({"t": range(4), "price": [1, 2, 3, 1], **labels}))]
    svg = picture(panels, "t", "price", "1 match in 4 rows")
    root = ET.fromstring(svg)
    assert root.get("viewBox") and root.get("width") is None and root.get("height") is None
    texts = {"".join(element.itertext()).strip() for element in root.iter()}
    assert {"symbol A & B", "1 match in 4 rows", "price", "a", "b"} <= texts
    assert "currentColor" in svg and not re.search(r"#010203|#000000|#ffffff|\bDate\b", svg, re.IGNORECASE)
    assert picture(panels, "t", "price", "1 match in 4 rows") == svg
    assert EXTERNAL.search(svg) is None
    assert Drawing(svg, "1 match")._repr_html_().endswith("</svg>\n</div>")


def test_panels_are_in_the_order_of_their_keys_and_no_key_is_called_nan():
    keys = ['{"k":10,"d":"2026-01-02"}', '{"k":2}', '{"d":"2026-01-01"}', "{}"]
    rows = pd.DataFrame({"sqlext_key": keys, "k": [10, 2, None, None], MATCH: [None, None, None, 1]})
    query = DrawingQuery(text="", time="t", keys=("K", "d"), conditions="")
    titles = [panel.title for panel in panels_of(DrawnRows(rows=rows), query)]
    assert titles == ["K NULL, d NULL", "K 2, d NULL", "K 10, d 2026-01-02", "K NULL, d 2026-01-01"]


def test_a_near_miss_is_hollow_and_every_value_is_escaped():
    hostile = "</text><script>alert(1)</script> $x_{1$ &amp;"
    labels = {MATCH: [None] * 3, VARIABLE: [None] * 3}
    miss = DrawnMiss(((0, 1.0, "A"), (1, 2.0, "A")), (2, 3.0), "B", f"no B: c = '{hostile}' is false")
    rows = pd.DataFrame({"t": [0, 1, 2], hostile: [1, 2, 3], **labels})
    svg = picture([Panel(hostile, rows, (miss,))], "t", hostile, hostile)
    root = ET.fromstring(svg)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    texts = ["".join(element.itertext()).strip() for element in root.iter() if element.tag.endswith("text")]
    assert texts.count(hostile) == 3 and f"no B: c = '{hostile}' is false" in texts
    assert svg.count("fill: none; stroke: #d95f02") >= 1


def test_a_warning_is_one_sentence_without_a_path(capsys):
    shell = InteractiveShell.instance(colors="nocolor")
    try:
        with warnings.catch_warnings(record=True) as others:
            warnings.simplefilter("always")
            load(shell)
            with capture_output() as captured:
                shell.run_cell("from sqlext.spark.user_warnings import warn\nwarn(['the query sorts all rows.'])")
                shell.run_cell("import warnings\nwarnings.warn('mine')")
    finally:
        InteractiveShell.clear_instance()
    assert [output.data["text/plain"] for output in captured.outputs] == ["Warning: the query sorts all rows."]
    assert (captured.stderr, [str(other.message) for other in others]) == ("", ["mine"])
    with warnings.catch_warnings():
        assert main(["hook", "show"]) in (0, 1)  # any command
        warn(["the query sorts all rows."])
    assert capsys.readouterr().err == "sqlext: the query sorts all rows.\n"
