"""Names of relations in SQL text: how they are written, quoted, and where a statement reads one. No session here."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlext.errors import ParseError
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.tokens import QUOTED, WORD, Token, closing, tokenize

Parts = tuple[str, ...]


@dataclass(frozen=True)
class RelationName:
    """A name of up to three parts at characters `start` to `stop` (exclusive) of a text."""

    parts: Parts
    start: int
    stop: int


def tokens_of(text: str) -> tuple[Token, ...]:
    """Spark's tokens; none if the text has no end to a string or comment, which Spark itself reports best."""
    try:
        return tokenize(text)
    except ParseError:
        return ()


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


def name_at(tokens: tuple[Token, ...], index: int) -> RelationName | None:
    """The dotted name that begins with token `index`."""
    parts: list[str] = []
    last = index
    while last < len(tokens) and tokens[last].is_name and tokens[last].word not in _NOT_NAMES:
        parts.append(unquoted(tokens[last]))
        if last + 1 >= len(tokens) or tokens[last + 1].word != ".":
            return RelationName(tuple(parts), tokens[index].start, tokens[last].stop)
        last += 2
    return None


def unquoted(token: Token) -> str:
    """A name as Spark keeps it."""
    return token.text[1:-1].replace("``", "`") if token.kind == QUOTED else token.text


def name_of(source: str, token: Token) -> Name:
    """
    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [name_of("a `b c`", t).key for t in tokenize("a `b c`")]
    ['A', 'b c']
    """
    name = Name("", Fragment(source, token.start, token.stop), is_quoted=token.kind != WORD)
    return Name(name.text if name.is_quoted else name.text.upper(), name.fragment, name.is_quoted)


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
    tokens: tuple[Token, ...]
    levels: list[_Level] = field(default_factory=lambda: [_Level(True)])
    found: list[RelationName] = field(default_factory=list)

    def word(self, index: int) -> str:
        """What a grammar compares with; "" behind either end."""
        return self.tokens[index].word if 0 <= index < len(self.tokens) else ""

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


def _common_table_expressions(tokens: tuple[Token, ...]) -> set[str]:
    """Lower case names `n` of `WITH n AS (` and `, n (a, b) AS (`."""
    walk, names = _Walk(tokens), set()
    for index in range(len(tokens)):
        if walk.word(index) in ("WITH", "RECURSIVE", ",") and index + 1 < len(tokens):
            behind = index + 2
            if walk.word(behind) == "(":
                behind = (closing(tokens, behind) or behind) + 1
            if walk.word(behind) == "AS" and walk.word(behind + 1) == "(":
                names.add(unquoted(tokens[index + 1]).lower())
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
