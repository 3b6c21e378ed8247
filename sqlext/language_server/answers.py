"""Answers about a document: its errors, the words that may come next, what is under the pointer, its layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from sqlext.errors import SqlExtError
from sqlext.formatting.check_syntax import check_text, warnings_of
from sqlext.formatting.completions import CompletionNames, completions, pattern_variables
from sqlext.formatting.declared_tables import DeclaredTable, declared_table
from sqlext.formatting.format_text import format_text
from sqlext.formatting.function_records import FunctionRecord, function_records
from sqlext.language_server.documents import Document, Part
from sqlext.rewriter.statements.sql_file import file_statements

_ERROR, _WARNING = 1, 2  # severities
_KINDS = {"column": 5, "pattern variable": 6, "table": 7, "": 14}  # field, variable, class, keyword; else a function
_FUNCTION = 3
_WORD = re.compile(r"[\w`]+")
_RECORDS = {record.name.lower(): record for record in function_records()}
Json = dict[str, Any]


def diagnostics(document: Document) -> list[Json]:
    """The findings of `sqlext check`."""
    found: list[Json] = []
    for part in document.parts():
        found += (_finding(document, part, error) for error in check_text(part.text))
        for line, sentence in warnings_of(part.text):
            start = part.start + sum(len(text) + 1 for text in part.text.split("\n")[: line - 1])
            stop = start + len(document.text[start:].partition("\n")[0].rstrip())
            found.append(_diagnostic(document.range(start, stop), _WARNING, sentence))
    return found


def _finding(document: Document, part: Part, error: SqlExtError) -> Json:
    start, stop = (0, 0) if error.place is None else (error.place.start, error.place.stop)
    message = error.message + (f"\nHint: {error.hint}" if error.hint else "")
    found = document.range(part.start + start, part.start + stop)
    return _diagnostic(found, _ERROR, message) | {"code": error.error_class}


def _diagnostic(found: Json, severity: int, message: str) -> Json:
    return {"range": found, "severity": severity, "source": "sqlext", "message": message}


def completion(document: Document, offset: int, others: Iterable[Document]) -> list[Json]:
    """The words that may stand at an offset. `others`: documents whose CREATE TABLE statements are known, too."""
    part = document.part_at(offset)
    if part is None:
        return []
    tables = _tables([document, *others])
    names = CompletionNames(lambda: tables, lambda name: [column.name for column in tables[name].columns])
    items = []
    for word, kind, length in completions(names, part.text, part.text[: offset - part.start], is_asked=True):
        edit = {"range": document.range(offset - length, offset), "newText": word}
        items.append({"label": word, "kind": _KINDS.get(kind, _FUNCTION), "detail": kind, "textEdit": edit})
    return items


def hover(document: Document, offset: int, others: Iterable[Document]) -> Json | None:
    """What is known of the word at an offset: a function, a pattern variable with its condition, a column, a table."""
    part = document.part_at(offset)
    if part is None:
        return None
    at = offset - part.start
    word = next((match for match in _WORD.finditer(part.text) if match.start() <= at <= match.end()), None)
    if word is None:
        return None
    text = next((text for about in _ABOUT if (text := about(word, part.text, _tables([document, *others])))), None)
    if text is None:
        return None
    found = document.range(part.start + word.start(), part.start + word.end())
    return {"contents": {"kind": "markdown", "value": text}, "range": found}


def _about_function(word: re.Match[str], text: str, tables: Mapping[str, DeclaredTable]) -> str | None:
    record = _RECORDS.get(word[0].lower())
    is_called = text[word.end() :].lstrip().startswith("(")
    return _described(record) if record is not None and (is_called or not record.is_call) else None


def _described(record: FunctionRecord) -> str:
    return f"```sql\n{record.form}\n```\n{record.description}\n\n`{record.example}` → `{record.result}`"


def _about_variable(word: re.Match[str], text: str, tables: Mapping[str, DeclaredTable]) -> str | None:
    known = {name.lower() for name in pattern_variables(text)}
    if word[0].lower() not in known:
        return None
    condition = re.search(rf"\b{re.escape(word[0])}\s+AS\s+([^\n]+)", text.partition("DEFINE")[2], re.IGNORECASE)
    if condition is None:
        return f"`{word[0]}`: a pattern variable without a condition, which every row satisfies"
    return f"`{word[0]}`: a pattern variable\n```sql\n{condition[1].rstrip(', )')}\n```"


def _about_column(word: re.Match[str], text: str, tables: Mapping[str, DeclaredTable]) -> str | None:
    name = word[0].strip("`").lower()
    lines = [
        f"`{table}.{column.name}` {column.type.text}"
        for table, declared in tables.items()
        for column in declared.columns
        if column.name.lower() == name and re.search(rf"\b{re.escape(table)}\b", text, re.IGNORECASE)
    ]
    return "\n\n".join(lines) or None


def _about_table(word: re.Match[str], text: str, tables: Mapping[str, DeclaredTable]) -> str | None:
    table = {name.lower(): table for name, table in tables.items()}.get(word[0].lower())
    return None if table is None else f"```sql\n{'.'.join(table.name)} ({table.schema})\n```"


_About = Callable[[re.Match[str], str, Mapping[str, DeclaredTable]], str | None]
_ABOUT: tuple[_About, ...] = (_about_function, _about_variable, _about_table, _about_column)


def _tables(documents: Iterable[Document]) -> dict[str, DeclaredTable]:
    parts = [part for document in documents for part in document.parts()]
    return {".".join(table.name): table for part in parts for table in _declared(part.text)}


def _declared(text: str) -> Iterator[DeclaredTable]:
    with suppress(SqlExtError):  # of a statement that is being typed
        for statement in file_statements(text):
            table = declared_table(statement.text)
            if table is not None:
                yield table


def formatting(document: Document) -> list[Json]:
    """The edits that lay out the clauses of a document; none of a part with an error."""
    edits = []
    for part in document.parts():
        with suppress(SqlExtError):
            text = format_text(part.text)
            if text != part.text:
                edits.append({"range": document.range(part.start, part.stop), "newText": text})
    return edits
