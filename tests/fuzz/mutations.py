"""Statements with mistakes: those of the test data, with tokens dropped, swapped, doubled, misspelt and mixed.

`python -m tests.fuzz.mutations FIRST COUNT` runs that many of them and prints what fails.
"""

from __future__ import annotations

import random
import re
import signal
import string
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from sqlext.errors import SqlExtError, SqlExtErrors
from sqlext.expressions.function import ExecutionSettings
from sqlext.formatting.check_syntax import check_syntax
from sqlext.rewriter.heads.view_statements import parse_view_statement
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.statements.explain_statement import ExplainStatement
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.read_statement import is_ours, read_statement
from sqlext.rewriter.statements.scan import might_be_extended
from sqlext.rewriter.text.splice import Source, Text

TESTS = Path(__file__).parents[1]
FILES = (
    "fuzz/*.txt", "rewriter/*.txt", "rewriter/rules/*.txt", "statements/*.txt", "engine/*/*.txt", "migration/*.sql",
    "../sql_examples/*.sql",
)  # fmt: skip
TYPES = ("int", "bigint", "double", "string", "timestamp", "date", "boolean", "decimal(18,2)", "array<int>")
# The first words of lines that end a statement in the data files.
_OUTCOME = re.compile(r"^(?:>>|rows\b.*|error\b.*|-- rows\b.*|-- error\b.*|-- write)$", re.MULTILINE)
_TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|\d+(?:\.\d+)?|'[^']*'|`[^`]*`|->>?|!->|\{-|-\}|<=>|[<>!]=|::|\|\||.", re.DOTALL)
_ABOUT_STREAMS = re.compile(r"\w+( OR \w+)? STREAMING TABLES?\b")
INTERNAL = re.compile(r"__|_pyspark|\n *\+- ")  # generated names, and plans

SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")


class AnyType(StaticBinder):
    """Types of expressions without Spark; what is not known has some type, always the same."""

    def types(self, texts: Sequence[Text]) -> list[str]:
        return [self._type(text) for text in texts]

    def _type(self, text: Text) -> str:
        try:
            return super().types([text])[0]
        except SqlExtError:
            return TYPES[sum(map(ord, str(text))) % len(TYPES)]

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list:
        return [None for _ in texts]

    def constant(self, text: Text):
        try:
            return super().constant(text)
        except SqlExtError:
            return None


@cache
def statements() -> tuple[str, ...]:
    """The statements of the test data that use the extended language."""
    texts = []
    for pattern in FILES:
        for path in sorted(TESTS.glob(pattern)):
            for block in re.split(r"\n(?:-- )?== .*\n", path.read_text("utf-8")):
                text = _OUTCOME.split(block)[0].strip().rstrip(";")
                if 20 < len(text) < 3000 and (might_be_extended(text) or _ABOUT_STREAMS.match(text)):
                    texts.append(text)
    return tuple(texts)


def mutated(number: int) -> str:
    """The statement of this number; the same number gives the same statement."""
    rng = random.Random(number)
    tokens = _TOKEN.findall(rng.choice(statements()))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        _mutate(tokens, rng)
    return "".join(tokens)


def _mutate(tokens: list[str], rng: random.Random) -> None:
    words = [i for i, token in enumerate(tokens) if not token.isspace()] or [0]
    i, j = rng.choice(words), rng.choice(words)
    kind = rng.randrange(9)
    if not tokens:
        tokens.append(rng.choice("()'`;"))
    elif kind == 0:
        del tokens[i]
    elif kind == 1:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif kind == 2:
        tokens.insert(i, tokens[i] + " ")
    elif kind == 3:
        tokens[i] = _misspelt(tokens[i], rng)
    elif kind == 4:
        tokens.insert(
            i, rng.choice(("(", ")", "[", "]", "{", "}", "{-", "-}", "'", "`", '"', ",", "/*", "--", ";", "?", ":x"))
        )
    elif kind == 5:
        tokens[i] = rng.choice(_TOKEN.findall(rng.choice(statements())))
    elif kind == 6:
        tokens[min(i, j) : min(i, j) + rng.randrange(1, 6)] = []
    elif kind == 7:
        tokens[min(i, j) : max(i, j)] = tokens[min(i, j) : max(i, j)] * 2 if abs(i - j) < 30 else []
    else:
        brackets = [k for k in words if tokens[k] in ("(", ")", "{-", "-}")] or [i]
        del tokens[rng.choice(brackets)]


def _misspelt(token: str, rng: random.Random) -> str:
    i = rng.randrange(max(len(token), 1))
    letter = rng.choice(string.ascii_letters + "_ 0é")
    return rng.choice((token[:i] + token[i + 1 :], token[:i] + letter + token[i:], token[:i] + letter + token[i + 1 :]))


def failure(text: str) -> str:
    """Why the front end does wrong on a text; "" if it takes it or refuses it with errors that have their places."""
    try:
        _read(text)
    except SqlExtError as e:
        return fault(e, text)
    except Exception as e:
        frames = traceback.extract_tb(e.__traceback__)
        if "/expressions/" in frames[-1].filename:  # Spark, which types the arguments first, refuses their number
            return ""
        return traceback.format_exc(limit=-4)
    return ""


def _read(text: str) -> None:
    """What happens to a text before Spark sees it: heads, parser, checks, lowering of each clause."""
    check_syntax(text)
    parse_view_statement(text)
    read = read_statement(text)
    if isinstance(read, RuleStatement) or not is_ours(text):
        return
    statement = parse_statement(read.query.text if isinstance(read, ExplainStatement) else text)
    source = Source(statement.tree.text)
    for part in statement.parts:
        if isinstance(part, ClauseSite):
            lower(part.clause, source, _input(part.clause))


def _input(clause: MatchClause) -> InputRelation:
    """Columns of all names that the clause reads, each of some type."""
    words = {word.lower() for word in re.findall(r"[A-Za-z_]\w*", _body(clause))}
    words -= {name.text.lower() for name in clause.pattern_variables}
    columns = tuple((word, TYPES[sum(map(ord, word)) % len(TYPES)]) for word in sorted(words))
    return InputRelation(
        columns=columns, resolver=AnyType(columns=dict(columns), settings=SETTINGS), is_aggregate=lambda name: False
    )


def _body(clause: MatchClause) -> str:
    return clause.whole.text[clause.relation.stop - clause.whole.start :]


def fault(error: SqlExtError, text: str) -> str:
    """What is wrong with an error itself, "" if nothing is."""
    for each in error.errors if isinstance(error, SqlExtErrors) else [error]:
        place = each.place
        if place is None:
            return f"no place: {each}"
        if not 0 <= place.start <= place.stop <= len(place.text) or place.text not in text:
            return f"place outside of the text: {place.start}, {place.stop}: {each}"
        if INTERNAL.search(f"{each.message} {each.hint}") and not INTERNAL.search(text):
            return f"an internal name: {each}"
        if place.start == place.stop or not each.message.strip() or "None" in str(each):
            return f"empty: {each}"
    return ""


def report_failures(
    first: int, count: int, statement: Callable[[int], str], failure: Callable[[str], str], seconds: int
) -> None:
    """Print the first statement of each kind of failure among `count` statements, each of which gets `seconds`."""
    seen: dict[str, int] = {}
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    for number in range(first, first + count):
        signal.alarm(seconds)
        text = statement(number)
        fault = failure(text)
        signal.alarm(0)
        if fault:
            key = re.sub(r"\d+", "", fault.strip().split("\n")[-1][:90] + fault.strip().split("\n")[0][:40])
            seen[key] = seen.get(key, 0) + 1
            if seen[key] == 1:
                print(f"#### {number}\n{text}\n>>\n{fault}\n", flush=True)
    print(f"{count} statements from {first}; kinds of failures: {seen}")


if __name__ == "__main__":
    report_failures(*map(int, sys.argv[1:3]), mutated, failure, seconds=20)
    print(f"{len(statements())} originals")
