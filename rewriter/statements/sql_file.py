"""Splits a file into its statements, and detects templates, which must be rendered first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlext.rewriter.statements.script import semicolons
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import Tokens, tokenize

_NOTEBOOK = re.compile(r"\s*-- Databricks notebook source\b")
_CELL_END = re.compile(r"^-- COMMAND -+[ \t]*$", re.MULTILINE)
_JINJA = re.compile(r"\{\{|\{%|\{#")


def file_statements(text: str) -> Iterator[Fragment]:
    """The statements of a file, without the semicolons between them. Empty statements are left out.

    A script, BEGIN … END, is one statement. In a Databricks notebook in source form (its first line is `-- Databricks
    notebook source`) the end of a cell also ends a statement; cells in other languages are comments.

    Raises ParseError (UNCLOSED_TEXT).

    >>> [s.text for s in file_statements("SELECT ';' -- a; b\\n; ;BEGIN SELECT 1; SELECT 2; END; SELECT 3")]
    ["SELECT ';'", 'BEGIN SELECT 1; SELECT 2; END', 'SELECT 3']
    >>> [s.text for s in file_statements("-- Databricks notebook source\\nSELECT 1\\n-- COMMAND ----------\\nSELECT 2")]
    ['SELECT 1', 'SELECT 2']
    """
    tokens = tokenize(text)
    first = 0
    for stop in sorted({*_ends(tokens), *_ends_of_cells(text, tokens), len(tokens)}):
        if first < stop:
            yield Fragment.of_tokens(text, tokens, first, stop)
        first = stop + (stop < len(tokens) and tokens[stop].word == ";")


def _ends(tokens: Tokens) -> Iterator[int]:
    """The semicolons that end statements of the file; semicolons inside scripts are left out."""
    first = 0
    while first < len(tokens):
        is_script = tokens[first].word == "BEGIN"
        stop = next(semicolons(tokens[first:])) if is_script else _next_semicolon(tokens, first) - first
        yield first + stop
        first += stop + 1


def _next_semicolon(tokens: Tokens, first: int) -> int:
    return next((i for i in range(first, len(tokens)) if tokens[i].word == ";"), len(tokens))


def _ends_of_cells(text: str, tokens: Tokens) -> Iterator[int]:
    """The first token of each cell of a notebook after the first cell."""
    if _NOTEBOOK.match(text):
        for end in _CELL_END.finditer(text):
            yield next((i for i, token in enumerate(tokens) if token.start >= end.start()), len(tokens))


def template_mark(text: str) -> Fragment | None:
    """The first mark of a Jinja template, as in the models of dbt; None for plain SQL.

    >>> template_mark("SELECT * FROM {{ ref('t') }}").text, template_mark("PATTERN ({- A -} B{2,})")
    ('{{', None)
    """
    mark = _JINJA.search(text)
    return Fragment(text, *mark.span()) if mark else None
