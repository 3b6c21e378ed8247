"""Reports `C.price` where PATTERN has no C as an error of the variable, not of a column of a table C."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from sqlext.errors import BindError, Place, SqlExtError, SqlExtErrors
from sqlext.rewriter.match.match_clause import MatchClause

_QUALIFIED = re.compile(r"\s*(\w+)\s*\.\s*[`\w]")


@dataclass(frozen=True)
class Names:
    """The names that may precede a dot in a clause: `variables` as written, and the words of its `relation`."""

    variables: tuple[str, ...]
    relation: frozenset[str]


def names_of(clause: MatchClause) -> Names:
    """The names by which a clause can refer to its rows."""
    words = frozenset(word.upper() for word in re.findall(r"\w+", clause.relation.text))
    unions = (subset.name.text for subset in clause.subsets)
    return Names((*(name.text for name in clause.pattern_variables), *unions), words)


def about_variable(error: SqlExtError, names: Names) -> SqlExtError:
    """The error, or UNKNOWN_PATTERN_VARIABLE if it is about a column that is qualified by an unknown name.

    >>> error = BindError("UNRESOLVED_COLUMN_WITH_SUGGESTION", "C.v cannot be resolved", place=Place("C.v > 1", 0, 3))
    >>> print(about_variable(error, Names(("A", "B"), frozenset({"T"}))))
    SQLEXT_UNKNOWN_PATTERN_VARIABLE: PATTERN does not use "C"
      1 | C.v > 1
        | ^
    Hint: the pattern variables are A, B.
    """
    if isinstance(error, SqlExtErrors):
        return SqlExtErrors([about_variable(each, names) for each in error.errors])
    place = error.place
    if place is None or not error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"):
        return error
    match = _QUALIFIED.match(place.text, place.start)
    if match is None or match[1].upper() in names.relation:
        return error
    close = get_close_matches(match[1].upper(), [name.upper() for name in names.variables], n=1)
    hint = f"did you mean {close[0]}?" if close else f"the pattern variables are {', '.join(names.variables)}."
    place = Place(place.text, match.start(1), match.end(1))
    return BindError("UNKNOWN_PATTERN_VARIABLE", f'PATTERN does not use "{match[1]}"', place=place, hint=hint)
