"""Names of relations in SQL text: how they are written, quoted, and where a statement reads one. No session here."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

Parts = tuple[str, ...]


@dataclass(frozen=True)
class RelationName:
    """A name of up to three parts at characters `start` to `stop` (exclusive) of a text."""

    parts: Parts
    start: int
    stop: int


def tokens_of(text: str) -> list[Token]:
    """Spark's tokens; none if the text has no end to a string or comment, which Spark itself reports best."""
    try:
        return Spark().tokenize(text)
    except TokenError:
        return []


def split_name(name: str) -> Parts:
    """
    >>> split_name("`my db`.v")
    ('my db', 'v')
    """
    found = name_at(tokens_of(name), 0)
    return found.parts if found else (name,)


def quote(parts: Parts) -> str:
    """
    >>> quote(("my db", "v"))
    '`my db`.`v`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def name_at(tokens: list[Token], index: int) -> RelationName | None:
    """The dotted name that begins with token `index`."""
    parts: list[str] = []
    last = index
    while last < len(tokens) and _is_identifier(tokens[last]):
        parts.append(tokens[last].text)
        if last + 1 >= len(tokens) or tokens[last + 1].token_type != TokenType.DOT:
            return RelationName(tuple(parts), tokens[index].start, tokens[last].end + 1)
        last += 2
    return None


def _is_identifier(token: Token) -> bool:
    if token.token_type in (TokenType.IDENTIFIER, TokenType.VAR):
        return True
    # Keywords that Spark does not reserve come as tokens of their own types.
    is_text = token.token_type not in (TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER)
    return is_text and token.text.isidentifier() and token.text.upper() not in _NOT_NAMES


_SET_OPERATIONS = {"UNION", "EXCEPT", "INTERSECT", "MINUS"}
_NOT_NAMES = _SET_OPERATIONS | {
    "SELECT", "FROM", "WHERE", "WITH", "VALUES", "TABLE", "LATERAL", "STREAM", "JOIN", "ON", "USING", "AS",
    "INTO", "SET",
}  # fmt: skip
_ENDS_FROM = _SET_OPERATIONS | {
    "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "QUALIFY",
    "WINDOW", "SET", "VALUES", "WHEN", "VIEW", "|>",
}  # fmt: skip
_BEFORE_TABLE = _SET_OPERATIONS | {"", "(", ",", "AS", "ALL", "FROM", "JOIN"}  # not DROP TABLE and the like


@dataclass
class _Level:
    """One depth of parentheses: is it a query or a list of relations, is the walk in a FROM, is a relation next."""

    is_query: bool
    in_from: bool = False
    is_relation_next: bool = False


@dataclass
class _Walk:
    tokens: list[Token]
    levels: list[_Level] = field(default_factory=lambda: [_Level(True)])
    found: list[RelationName] = field(default_factory=list)

    def word(self, index: int) -> str:
        """The token in upper case; "" for strings, quoted names, and behind either end."""
        if not 0 <= index < len(self.tokens):
            return ""
        token = self.tokens[index]
        is_quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING)
        return "" if is_quoted else token.text.upper().split(" ")[0]

    def run(self) -> list[RelationName]:
        index = 0
        while index < len(self.tokens):
            index = self.step(index)
        return self.found

    def step(self, index: int) -> int:
        level, word = self.levels[-1], self.word(index)
        if word == "(":
            is_list = level.is_relation_next
            level.is_relation_next = False
            is_query = is_list or self.word(index + 1) in ("SELECT", "WITH", "FROM", "TABLE", "(")
            self.levels.append(_Level(is_query, is_list, is_list))
        elif word == ")":
            self.levels = self.levels[:-1] or [_Level(True)]
        elif level.is_relation_next and word not in ("LATERAL", "STREAM", "TABLE"):
            return self.relation(level, index)
        else:
            self.keyword(level, word, index)
        return index + 1

    def relation(self, level: _Level, index: int) -> int:
        level.is_relation_next = False
        name = name_at(self.tokens, index)
        if name is None:
            self.keyword(level, self.word(index), index)
            return index + 1
        behind = index + 2 * len(name.parts) - 1
        if self.word(behind) != "(":  # else a table function
            self.found.append(name)
        return behind

    def keyword(self, level: _Level, word: str, index: int) -> None:
        if word == "FROM" and (not level.is_query or self.word(index - 1) == "DISTINCT"):
            return  # EXTRACT(DAY FROM t), a IS DISTINCT FROM b
        if word in ("FROM", "JOIN"):
            level.in_from = level.is_relation_next = True
        elif (word == "USING" and self.word(index + 1) != "(") or (
            word == "TABLE" and self.word(index - 1) in _BEFORE_TABLE
        ):
            level.is_relation_next = True
        elif word == ",":
            level.is_relation_next = level.in_from
        elif word in _ENDS_FROM:
            level.in_from = False


def relations(text: str) -> tuple[RelationName, ...]:
    """The names that a statement reads from, in the order of the text; no CTEs of its own, no table functions.

    Read off the tokens, without a grammar of all of Spark: a name in it need not be a relation, so look it up.

    >>> [name.parts for name in relations("WITH c AS (TABLE a.t) SELECT EXTRACT(DAY FROM d) FROM c, v, f(1)")]
    [('a', 't'), ('v',)]
    """
    tokens = tokens_of(text)
    own = _common_table_expressions(tokens)
    return tuple(name for name in _Walk(tokens).run() if len(name.parts) > 1 or name.parts[0].lower() not in own)


def _common_table_expressions(tokens: list[Token]) -> set[str]:
    """Lower case names `n` of `WITH n AS (` and `, n (a, b) AS (`."""
    walk, names = _Walk(tokens), set()
    for index in range(len(tokens)):
        if walk.word(index) in ("WITH", "RECURSIVE", ",") and index + 1 < len(tokens):
            behind = index + 2
            if walk.word(behind) == "(":
                behind = next((i for i in range(behind, len(tokens)) if walk.word(i) == ")"), behind) + 1
            if walk.word(behind) == "AS" and walk.word(behind + 1) == "(":
                names.add(tokens[index + 1].text.lower())
    return names


def qualify(text: str, schema: Parts) -> str:
    """The text with `schema` in front of every relation that is named without one.

    >>> qualify("SELECT * FROM t JOIN other.u USING (k)", ("main", "db"))
    'SELECT * FROM `main`.`db`.t JOIN other.u USING (k)'
    """
    for name in reversed(relations(text)):
        if len(name.parts) == 1:
            text = f"{text[: name.start]}{quote(schema)}.{text[name.start :]}"
    return text
