"""A short notation for conditions, with which a case is one line of text.

    (less (last A v) 3)       calls are named as in task.CALLS, `add:8` has 8 bits, `add:8:wrap` is not ANSI
    (last AB i 1 -2 7)        rows with label A or B (* is any), column, offset, step, value where no row is reached
    (sum * i) (count A rows)  aggregates; `distinct-sum`
    1  1.5  nan  true  null

Columns are i, j (int), f, g (float), b (bool), class (CLASSIFIER), number (MATCH_NUMBER), rows (no argument).
"""

from __future__ import annotations

from sqlext.pattern.task.task import (
    CLASSIFIER,
    MACHINE_CALLS,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    Literal,
    MachineCall,
    Navigation,
    Operand,
)

COLUMNS = {"i": 0, "j": 1, "f": 2, "g": 3, "b": 4, "class": CLASSIFIER, "number": MATCH_NUMBER, "rows": None}
KINDS = {"i": "int", "j": "int", "f": "float", "g": "float", "b": "bool", "class": "int", "number": "int"}
_TO_BOOL = ("less", "less_equal", "equal", "not_equal", "null_safe_equal", "and", "or", "not", "is_null")


def read(text: str) -> Condition:
    """Parse a condition."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    condition = _read(tokens)
    assert not tokens, tokens
    return condition


def _read(tokens: list[str]) -> Condition:
    token = tokens.pop(0)
    if token != "(":
        return literal(token)
    function = tokens.pop(0)
    name, *options = function.split(":")
    if name in MACHINE_CALLS:
        arguments = []
        while tokens[0] != ")":
            arguments.append(_read(tokens))
        tokens.pop(0)
        return call(name, *arguments, bits=int(options[0]) if options else 64, is_ansi="wrap" not in options)
    end = tokens.index(")")
    words, tokens[: end + 1] = tokens[:end], []
    return navigation(function, *words) if function in ("first", "last") else aggregate(function, *words)


def literal(word: str) -> Literal:
    if word in ("null", "true", "false"):
        return Literal({"null": None, "true": True, "false": False}[word], "bool")
    return Literal(float(word), "float") if set(word) & set(".naife") else Literal(int(word), "int")


def call(name: str, *arguments: Condition, bits: int = 64, is_ansi: bool = True) -> MachineCall:
    kind = "bool" if name in _TO_BOOL else "float" if name == "float" else arguments[-1].kind
    return MachineCall(function=name, arguments=arguments, kind=kind, bits=bits, is_ansi=is_ansi)


def labels(word: str) -> tuple[int, ...] | None:
    return None if word == "*" else tuple(ord(letter) - ord("A") for letter in word)


def navigation(function: str, rows: str, column: str, offset="0", step="0", missing="null") -> Operand:
    source = Navigation(
        argument=COLUMNS[column],
        labels=labels(rows),
        from_first=function == "first",
        offset=int(offset),
        step=int(step),
    )
    return Operand(source, KINDS[column], literal(missing).value)


def aggregate(function: str, rows: str, column: str) -> Operand:
    name = function.removeprefix("distinct-")
    kind = "int" if name == "count" else "float" if name == "avg" else KINDS[column]
    return Operand(
        Aggregate(function=name, argument=COLUMNS[column], labels=labels(rows), is_distinct=name != function), kind
    )
