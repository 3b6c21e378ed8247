"""Which comparisons pad CHAR columns, and what is compared with them, with blanks.

The rules are those of Spark's ApplyCharTypePadding, which pads nothing in BETWEEN and nullif. Spark pads the values of
CHAR columns where they are read, or else where they are compared.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from sqlext.expressions.function import PADDED_READS, STRINGS_FOR_CHARS, UNPADDED_PREDICATES
from sqlext.rewriter.scalars.expression import COMPARISONS

_COMPARISONS = COMPARISONS | {"IS DISTINCT FROM", "IS NOT DISTINCT FROM", "equal_null"}


def padded_lengths(
    function: str, columns: Sequence[int | None], texts: Sequence[int | None], settings: Container[str]
) -> list[int]:
    """The length to which each operand of a function is padded; 0 for one that stays as it is.

    `columns`: the lengths of the operands that are CHAR columns; `texts`: those of the operands that are constants;
    None for others. `settings`: the settings that are on.

    >>> padded_lengths("=", [5, None], [None, 2], {PADDED_READS}), padded_lengths("=", [5, None], [None, 2], ())
    ([0, 5], [5, 5])
    >>> padded_lengths("IN", [3, 5, None], [None, None, 2], ()), padded_lengths("BETWEEN", [3, 5, 5], [None] * 3, ())
    ([0, 0, 0], [0, 0, 0])
    """
    known: Sequence[int | None] = [None]
    if function in _COMPARISONS and any(n is not None for n in columns):
        known = [text if column is None else column for column, text in zip(columns, texts)]
    elif function == "IN":
        known = columns if None not in columns else [columns[0], *texts[1:]]
    lengths = [n for n in known if n is not None]
    if len(lengths) < len(columns) or STRINGS_FOR_CHARS in settings:
        return [0] * len(columns)
    # files may hold shorter values, which Spark then pads where it compares them
    are_shorter = PADDED_READS not in settings and UNPADDED_PREDICATES not in settings
    return [max(lengths) if are_shorter or n < max(lengths) else 0 for n in lengths]
