"""A templater for sqlfluff, `templater = sqlext` next to `dialect = sparksql`, to lint the Spark SQL in a file.

sqlfluff treats the clauses of the extended language like calls of a macro: it neither parses nor changes them. Their
errors are reported as templating errors, with their places.
"""

from __future__ import annotations

from typing import Any

from sqlfluff.core.errors import SQLTemplaterError
from sqlfluff.core.plugin import hookimpl
from sqlfluff.core.templaters import RawTemplater, TemplatedFile
from sqlfluff.core.templaters.base import RawFileSlice, TemplatedFileSlice

from sqlext.errors import SqlExtError
from sqlext.formatting.without_clauses import edits_of_file
from sqlext.rewriter.text.splice import Edit


class SqlExtTemplater(RawTemplater):
    """Leaves the clauses of the extended language out of the text that sqlfluff parses."""

    name = "sqlext"

    def process(
        self, *, in_str: str, fname: str, config: Any = None, formatter: Any = None
    ) -> tuple[TemplatedFile, list[SQLTemplaterError]]:
        """The file as sqlfluff should parse it.

        Raises SQLTemplaterError for a wrong clause; nothing is then left out.
        """
        try:
            return _templated(in_str, fname, edits_of_file(in_str)), []
        except SqlExtError as error:
            line, column = (error.place.line, error.place.column) if error.place is not None else (1, 1)
            raise SQLTemplaterError(f"{error.error_class}: {error.message}", line_no=line, line_pos=column) from None


def _templated(text: str, name: str, edits: list[Edit]) -> TemplatedFile:
    slices: list[TemplatedFileSlice] = []
    raw: list[RawFileSlice] = []
    result, after = "", 0

    def add(kind: str, start: int, stop: int, new: str) -> None:
        nonlocal result
        if start < stop:
            place = slice(len(result), len(result) + len(new))
            slices.append(TemplatedFileSlice(kind, slice(start, stop), place))
            raw.append(RawFileSlice(text[start:stop], kind, start))
            result += new

    for edit in edits:
        add("literal", after, edit.start, text[after : edit.start])
        add("templated", edit.start, edit.stop, str(edit.replacement))
        after = edit.stop
    add("literal", after, len(text), text[after:])
    return TemplatedFile(source_str=text, templated_str=result, fname=name, sliced_file=slices, raw_sliced=raw)


@hookimpl
def get_templaters() -> list[type[RawTemplater]]:
    """The templaters that this plugin provides to sqlfluff."""
    return [SqlExtTemplater]
