"""Reads CREATE, ALTER, DROP, SHOW and DESCRIBE of pattern rules from tokens.

The grammar is the one in docs/rules.md. A text that begins like one of these statements is never passed to Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlext.errors import ParseError, Place
from sqlext.rewriter.heads.statement import OwnStatement
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName
from sqlext.rewriter.text.tokens import STRING, closing

CREATE, ENABLE, DISABLE, DROP, SHOW, DESCRIBE = "CREATE", "ENABLE", "DISABLE", "DROP", "SHOW", "DESCRIBE"
RENAME, COMMENT, EFFECTIVE, ROLLBACK = "RENAME", "COMMENT", "EFFECTIVE", "ROLLBACK"

_FORMS = {
    CREATE: "CREATE [OR REPLACE] PATTERN RULE [IF NOT EXISTS] name ON rules_table [FOR TABLE events] "
    "[EFFECTIVE FROM timestamp] [COMMENT '…'] AS MATCH_RECOGNIZE (…)",
    "ALTER": "ALTER PATTERN RULE name ON rules_table, then ENABLE, DISABLE, RENAME TO name, COMMENT '…', SET EFFECTIVE "
    "FROM timestamp, or ROLLBACK TO VERSION n",
    DROP: "DROP PATTERN RULE [IF EXISTS] name ON rules_table",
    SHOW: "SHOW PATTERN RULES ON rules_table [LIKE 'pattern']",
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
class RuleStatement(OwnStatement):
    """A statement about pattern rules.

    `verb` is CREATE, DROP, SHOW, DESCRIBE or, for ALTER, what is altered: ENABLE, DISABLE, RENAME, COMMENT, EFFECTIVE
    or ROLLBACK. `name` is None for SHOW, `definition` is None for every verb but CREATE.
    """

    text: str
    verb: str
    table: RelationName
    name: RelationName | None = None
    if_exists: bool = False
    definition: RuleDefinition | None = None
    new_name: RelationName | None = None  # RENAME TO
    comment: Fragment | None = None  # COMMENT
    effective_from: Fragment | None = None  # SET EFFECTIVE FROM
    version: int | None = None  # ROLLBACK TO VERSION
    version_place: Place | None = None
    pattern: str = "*"  # SHOW … LIKE, as `view_statements.fits` reads it

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


def parse_rule_statement(text: str) -> RuleStatement:
    """The statement about pattern rules that a text with the first words of one is. Raises ParseError.

    >>> alter = parse_rule_statement("ALTER PATTERN RULE `big spender` ON db.rules DISABLE;")
    >>> alter.verb, alter.rule, alter.table.parts
    ('DISABLE', 'big spender', ('db', 'rules'))
    >>> create = parse_rule_statement("CREATE PATTERN RULE r ON t FOR TABLE e AS MATCH_RECOGNIZE (PATTERN (A))")
    >>> create.definition.events.parts, create.definition.body.text
    (('e',), 'PATTERN (A)')
    """
    return _RuleReader(Cursor.of(text, error_class="RULE_STATEMENT")).statement()


@dataclass
class _RuleReader:
    """Reads one statement that begins with the words of a form."""

    cursor: Cursor
    form: str = ""

    def statement(self) -> RuleStatement:
        cursor = self.cursor
        first = cursor.tokens[0].word
        if first in (ENABLE, DISABLE, ROLLBACK):
            end = " TO VERSION n" if first == ROLLBACK else ""
            hint = f"write ALTER PATTERN RULE name ON rules_table {first}{end}."
            raise cursor.error(f"{first} is written after the rule", 0, 1, hint=hint)
        self.form = DESCRIBE if first == "DESC" else first
        cursor.index, cursor.hint = 1, f"write {_FORMS[self.form]}."
        or_replace = cursor.take("OR", "REPLACE")
        if not cursor.take("PATTERN"):
            raise cursor.error("the word PATTERN is missing before RULE", cursor.index, cursor.index + 1)
        cursor.take_one_of(("RULE", "RULES"))
        if_not_exists = self._if_not_exists(or_replace=or_replace) if self.form == CREATE else False
        if_exists = self.form == DROP and cursor.take("IF", "EXISTS")
        name = None if self.form == SHOW else self._rule_name()
        cursor.expect("ON and the name of the rules table", "ON")
        table = cursor.take_name()
        if table is None:
            raise self.cursor.expected("the name of the rules table")
        definition = (
            self._definition(or_replace=or_replace, if_not_exists=if_not_exists) if self.form == CREATE else None
        )
        statement = RuleStatement(
            text=cursor.text, verb=self.form, table=table, name=name, if_exists=if_exists, definition=definition
        )
        if self.form == "ALTER":
            statement = self._altered(statement)
        elif self.form == SHOW and cursor.take("LIKE"):
            statement = replace(statement, pattern=cursor.expect_pattern())
        if not cursor.is_at_end:
            message = f"{cursor.tokens[cursor.index].text} is written after the end of the statement"
            raise cursor.error(message, cursor.index, cursor.index + 1)
        return statement

    def _if_not_exists(self, *, or_replace: bool) -> bool:
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
                "RULE_STATEMENT",
                "the name of a rule has one part: it belongs to its table",
                place=Place(self.cursor.text, name.start, name.stop),
                hint="write name ON schema.rules_table.",
            )
        return name

    def _altered(self, statement: RuleStatement) -> RuleStatement:
        """The statement with what follows the name of the table in ALTER."""
        cursor = self.cursor
        if cursor.take(RENAME):
            cursor.expect("TO and a name", "TO")
            return replace(statement, verb=RENAME, new_name=self._rule_name())
        if cursor.take(COMMENT):
            return replace(statement, verb=COMMENT, comment=self._string())
        if cursor.take("SET"):
            cursor.expect("EFFECTIVE FROM", EFFECTIVE, "FROM")
            return replace(statement, verb=EFFECTIVE, effective_from=self._until_option())
        if cursor.take(ROLLBACK):
            cursor.expect("TO VERSION", "TO", "VERSION")
            return self._with_version(statement)
        verb = next((word for word in (ENABLE, DISABLE) if cursor.take(word)), None)
        if verb is None:
            raise cursor.expected("ENABLE, DISABLE, RENAME, COMMENT, SET or ROLLBACK")
        return replace(statement, verb=verb)

    def _with_version(self, statement: RuleStatement) -> RuleStatement:
        cursor = self.cursor
        if cursor.is_at_end or not cursor.tokens[cursor.index].text.isdecimal():
            raise cursor.expected("the number of a version")
        cursor.index += 1
        number = cursor.fragment(cursor.index - 1, cursor.index)
        return replace(statement, verb=ROLLBACK, version=int(number.text), version_place=number.place)

    def _definition(self, *, or_replace: bool, if_not_exists: bool) -> RuleDefinition:
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
            or_replace=or_replace,
            if_not_exists=if_not_exists,
            events=events,
            effective_from=effective_from,
            comment=comment,
            keyword=cursor.fragment(start, start + 1),
            clause=cursor.fragment(start, cursor.index),
            body=Fragment(cursor.text, opening.stop, last.stop if close is None else last.start),
        )

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
