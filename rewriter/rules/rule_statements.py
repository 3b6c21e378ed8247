"""Reads CREATE, ALTER, DROP, SHOW and DESCRIBE of pattern rules from tokens.

The grammar is the one in docs/rules.md. A text that begins like one of these statements is never passed to Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.errors import ParseError, Place
from sqlext.rewriter.heads.heads import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName
from sqlext.rewriter.text.tokens import STRING, closing, tokenize

CREATE, ENABLE, DISABLE, DROP, SHOW, DESCRIBE = "CREATE", "ENABLE", "DISABLE", "DROP", "SHOW", "DESCRIBE"

_BLANK = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_HEAD = re.compile(
    rf"{_BLANK}(?:CREATE\b(?:{_BLANK}OR\b{_BLANK}REPLACE\b)?{_BLANK}(?:PATTERN\b{_BLANK})?RULE\b"
    rf"|(?:ALTER|DROP|DESC|DESCRIBE|ENABLE|DISABLE)\b{_BLANK}PATTERN\b{_BLANK}RULE\b"
    rf"|SHOW\b{_BLANK}PATTERN\b{_BLANK}RULES?\b)",
    re.IGNORECASE | re.DOTALL,
)
_MENTION = re.compile(rf"\bPATTERN\b{_BLANK}\bRULES?\b", re.IGNORECASE | re.DOTALL)
_FORMS = {
    CREATE: "CREATE [OR REPLACE] PATTERN RULE [IF NOT EXISTS] name ON rules_table [FOR TABLE events] "
    "[EFFECTIVE FROM timestamp] [COMMENT '…'] AS MATCH_RECOGNIZE (…)",
    "ALTER": "ALTER PATTERN RULE name ON rules_table ENABLE, or DISABLE",
    DROP: "DROP PATTERN RULE [IF EXISTS] name ON rules_table",
    SHOW: "SHOW PATTERN RULES ON rules_table",
    DESCRIBE: "DESCRIBE PATTERN RULE name ON rules_table",
}


@dataclass(frozen=True, kw_only=True)
class RuleDefinition:
    """The parts of CREATE PATTERN RULE other than the names of the rule and its table.

    `clause` runs from MATCH_RECOGNIZE to its closing parenthesis, or to the end of the text if there is none; `body`
    begins after its opening parenthesis.
    """

    or_replace: bool
    if_not_exists: bool
    events: RelationName | None
    effective_from: Fragment | None
    comment: Fragment | None
    keyword: Fragment
    body: Fragment
    clause: Fragment


@dataclass(frozen=True, kw_only=True)
class RuleStatement:
    """A statement about pattern rules.

    `verb` is CREATE, ENABLE, DISABLE, DROP, SHOW or DESCRIBE. `name` is None for SHOW, `definition` is None for every
    verb but CREATE.
    """

    text: str
    verb: str
    table: RelationName
    name: RelationName | None = None
    if_exists: bool = False
    definition: RuleDefinition | None = None

    @property
    def rule(self) -> str:
        """The rule's name; "" for SHOW."""
        return self.name.parts[0] if self.name else ""

    @property
    def place(self) -> Place:
        """The place of the name of the rule, or of the table if no rule is named."""
        name = self.name or self.table
        return Place(self.text, name.start, name.stop)

    @property
    def table_place(self) -> Place:
        return Place(self.text, self.table.start, self.table.stop)


def is_rule_statement(text: str) -> bool:
    """Whether a text begins like a statement about pattern rules.

    >>> is_rule_statement("drop pattern rule r ON rules"), is_rule_statement("SELECT pattern rule FROM t")
    (True, False)
    """
    return _HEAD.match(text) is not None


def mentions_rules(text: str) -> bool:
    """False if a statement or script surely contains no statement about pattern rules; True decides nothing."""
    return _MENTION.search(text) is not None


def parse_rule_statement(text: str) -> RuleStatement | None:
    """The statement about pattern rules that a text is; None for all other text. Raises ParseError.

    >>> alter = parse_rule_statement("ALTER PATTERN RULE `big spender` ON db.rules DISABLE;")
    >>> alter.verb, alter.rule, alter.table.parts
    ('DISABLE', 'big spender', ('db', 'rules'))
    >>> create = parse_rule_statement("CREATE PATTERN RULE r ON t FOR TABLE e AS MATCH_RECOGNIZE (PATTERN (A))")
    >>> create.definition.events.parts, create.definition.body.text
    (('e',), 'PATTERN (A)')
    """
    if not is_rule_statement(text):
        return None
    tokens = tokenize(text)
    while tokens and tokens[-1].text == ";":
        tokens = tokens[:-1]
    return _RuleReader(Cursor(tokens, text=text, error_class="RULE_STATEMENT")).statement()


@dataclass
class _RuleReader:
    """Reads one statement that begins with the words of a form."""

    cursor: Cursor
    form: str = ""

    def statement(self) -> RuleStatement:
        cursor = self.cursor
        first = cursor.tokens[0].word
        if first in (ENABLE, DISABLE):
            hint = f"write ALTER PATTERN RULE name ON rules_table {first}."
            raise cursor.error(f"{first} is written after the rule", 0, 1, hint=hint)
        self.form = DESCRIBE if first == "DESC" else first
        cursor.index, cursor.hint = 1, f"write {_FORMS[self.form]}."
        or_replace = cursor.take("OR", "REPLACE")
        if not cursor.take("PATTERN"):
            raise cursor.error("the word PATTERN is missing before RULE", cursor.index, cursor.index + 1)
        cursor.take_one_of(("RULE", "RULES"))
        if_not_exists = self._if_not_exists(or_replace) if self.form == CREATE else False
        if_exists = self.form == DROP and cursor.take("IF", "EXISTS")
        name = None if self.form == SHOW else self._rule_name()
        cursor.expect("ON and the name of the rules table", "ON")
        table = cursor.take_name()
        if table is None:
            raise self.cursor.expected("the name of the rules table")
        definition = self._definition(or_replace, if_not_exists) if self.form == CREATE else None
        verb = self._switch() if self.form == "ALTER" else self.form
        if not cursor.is_at_end:
            message = f"{cursor.tokens[cursor.index].text} is written after the end of the statement"
            raise cursor.error(message, cursor.index, cursor.index + 1)
        return RuleStatement(
            text=cursor.text, verb=verb, table=table, name=name, if_exists=if_exists, definition=definition
        )

    def _if_not_exists(self, or_replace: bool) -> bool:
        start = self.cursor.index
        if_not_exists = self.cursor.take("IF", "NOT", "EXISTS")
        if or_replace and if_not_exists:
            message = "OR REPLACE and IF NOT EXISTS exclude each other"
            raise self.cursor.error(message, start, start + 3, hint="leave one of them out.")
        return if_not_exists

    def _rule_name(self) -> RelationName:
        name = self.cursor.take_name()
        if name is None:
            raise self.cursor.expected("the name of a rule")
        if len(name.parts) > 1:
            raise ParseError(
                "RULE_STATEMENT", "the name of a rule has one part: it belongs to its table",
                place=Place(self.cursor.text, name.start, name.stop), hint="write name ON schema.rules_table.",
            )  # fmt: skip
        return name

    def _switch(self) -> str:
        verb = next((word for word in (ENABLE, DISABLE) if self.cursor.take(word)), None)
        if verb is None:
            raise self.cursor.expected("ENABLE or DISABLE")
        return verb

    def _definition(self, or_replace: bool, if_not_exists: bool) -> RuleDefinition:
        cursor, events = self.cursor, None
        if cursor.take("FOR"):
            cursor.take("TABLE")
            events = cursor.take_name()
            if events is None:
                raise self.cursor.expected("TABLE and the name of the table of events")
        effective_from = self._until_option() if cursor.take("EFFECTIVE", "FROM") else None
        comment = self._string() if cursor.take("COMMENT") else None
        cursor.expect("AS MATCH_RECOGNIZE (…)", "AS")
        start = cursor.index
        cursor.expect("MATCH_RECOGNIZE (…)", "MATCH_RECOGNIZE", "(")
        close = closing(cursor.tokens, start + 1)
        cursor.index = len(cursor.tokens) if close is None else close + 1
        opening, last = cursor.tokens[start + 1], cursor.tokens[cursor.index - 1]
        return RuleDefinition(
            or_replace=or_replace, if_not_exists=if_not_exists, events=events, effective_from=effective_from,
            comment=comment, keyword=cursor.fragment(start, start + 1), clause=cursor.fragment(start, cursor.index),
            body=Fragment(cursor.text, opening.stop, last.stop if close is None else last.start),
        )  # fmt: skip

    def _until_option(self) -> Fragment:
        """The expression that ends before COMMENT or AS."""
        cursor, start = self.cursor, self.cursor.index
        while not cursor.is_at_end:
            token = cursor.tokens[cursor.index]
            if token.depth == 0 and token.word in ("COMMENT", "AS"):
                break
            cursor.index += 1
        if cursor.index == start:
            raise self.cursor.expected("a timestamp")
        return cursor.fragment(start, cursor.index)

    def _string(self) -> Fragment:
        """One or more string literals, which Spark concatenates."""
        cursor, start = self.cursor, self.cursor.index
        while not cursor.is_at_end and cursor.tokens[cursor.index].kind == STRING:
            cursor.index += 1
        if cursor.index == start:
            raise self.cursor.expected("a string")
        return cursor.fragment(start, cursor.index)
