"""Reports `C.price` where PATTERN has no C, and a variable alone, as errors of the variable, not of a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlext.errors import BindError, Place, SqlExtError, SqlExtErrors
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.references import columns_hint
from sqlext.rewriter.text.names import unquoted

_ELEMENT = re.compile(r"\s*\[\s*(\d+)\s*\](?:\s*\.\s*(\w+))?")  # of Esper: A[1].price
_QUALIFIED = re.compile(r"\s*(\w+)\s*\.\s*[`\w]")


@dataclass(frozen=True)
class ClauseNames:
    """The names of a clause: its `variables` as written and the words of its `relation`, which may precede a dot, and
    its `measures`, in lower case."""

    variables: tuple[str, ...]
    relation: frozenset[str]
    measures: frozenset[str] = frozenset()


def names_of(clause: MatchClause) -> ClauseNames:
    """The names by which a clause can refer to its rows."""
    words = frozenset(word.upper() for word in re.findall(r"\w+", clause.relation.text))
    unions = (subset.name.text for subset in clause.subsets)
    measures = frozenset(measure.name.text.lower() for measure in clause.measures)
    return ClauseNames((*(name.text for name in clause.pattern_variables), *unions), words, measures)


def about_variable(error: SqlExtError, names: ClauseNames, columns: Sequence[str] = ()) -> SqlExtError:
    """The error, or an error about a pattern variable if that is what the column's name or qualifier is, or should be.

    `columns`: the columns of the input, if they are known, for an error of Spark that suggests none.

    >>> error = BindError("UNRESOLVED_COLUMN_WITH_SUGGESTION", "C.v cannot be resolved", place=Place("C.v > 1", 0, 3))
    >>> print(about_variable(error, ClauseNames(("A", "B"), frozenset({"T"}))))
    SQLEXT_UNKNOWN_PATTERN_VARIABLE: PATTERN does not use "C"
      1 | C.v > 1
        | ^
    Hint: the pattern variables are A, B.
    """
    if isinstance(error, SqlExtErrors):
        return SqlExtErrors([about_variable(each, names, columns) for each in error.errors])
    place = error.place
    if place is None or not error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"):
        return error
    word = place.written
    if word.upper() in {name.upper() for name in names.variables}:
        message = f'"{word}" is a pattern variable, and the input has no column of this name'
        hint = f"COUNT({word}.*) is the number of its rows; write {word}.price for a column of them."
        element = _ELEMENT.match(place.text, place.stop)
        if element is not None:
            offset = f", {element[1]}" if int(element[1]) else ""
            hint = f"write FIRST({word}.{element[2] or 'price'}{offset})."
        return BindError("UNKNOWN_COLUMN", message, place=place, hint=hint)
    match = _QUALIFIED.match(place.text, place.start)
    if match is None and unquoted(word).lower() in names.measures:
        message = f'"{unquoted(word)}" is a measure, which is computed after the match'
        hint = "write the expression of the measure here, or filter the result: MATCH_RECOGNIZE (…) WHERE …."
        return BindError("UNKNOWN_COLUMN", message, place=place, hint=hint)
    if (match is None or match[1].upper() in names.relation) and columns and "Did you mean" not in error.message:
        message = f'the input has no column "{unquoted(word)}"'
        return BindError("UNKNOWN_COLUMN", message, place=place, hint=columns_hint(unquoted(word), columns))
    if match is None or match[1].upper() in names.relation:
        return error
    close = get_close_matches(match[1].upper(), [name.upper() for name in names.variables], n=1)
    hint = f"did you mean {close[0]}?" if close else f"the pattern variables are {', '.join(names.variables)}."
    place = Place(place.text, match.start(1), match.end(1))
    return BindError("UNKNOWN_PATTERN_VARIABLE", f'PATTERN does not use "{match[1]}"', place=place, hint=hint)


def about_result(error: SqlExtError, clause: MatchClause, columns: Sequence[str]) -> SqlExtError:
    """The error; with a hint if it is about a column of the input that the result of the clause does not have, or that
    it shows beside a measure of this name.

    `columns`: the columns of the clause's input.
    """
    place = error.place
    if place is None or error.hint:
        return error
    word = place.written
    column, is_all_rows = unquoted(word.rpartition(".")[2]), clause.rows_per_match.is_all_rows
    if column.lower() not in {name.lower() for name in columns}:
        return error
    is_unresolved = error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN")  # Spark's error of ORDER BY
    is_ambiguous = is_unresolved or error.error_class == "SQLEXT_AMBIGUOUS_REFERENCE"
    if is_ambiguous and is_all_rows and column.lower() in names_of(clause).measures:
        hint = f"ALL ROWS PER MATCH shows the column {column} of the input beside the measure: write MEASURES … AS "
        return error.with_(hint=f"{hint}another_name.")
    if is_all_rows or not is_unresolved:
        return error
    variable = word.rpartition(".")[0].upper()
    read = f"{word}" if variable in clause.labels else f"LAST({column})"
    hint = f"the result has the keys and the measures: write MEASURES {read} AS {column}, or ALL ROWS PER MATCH."
    return error.with_(hint=hint)
