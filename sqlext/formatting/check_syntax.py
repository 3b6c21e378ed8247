"""Checks the clauses in the statements of a file, without Spark; plain Spark SQL is ignored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from sqlext.errors import SqlExtError, SqlExtErrors, raise_all
from sqlext.rewriter.heads.heads import CREATE_VIEW, check_no_function, parse_create_view, parse_head
from sqlext.rewriter.heads.stream_heads import parse_command
from sqlext.rewriter.heads.stream_target import parse_target
from sqlext.rewriter.rules.rule_statements import is_rule_statement, mentions_rules, parse_rule_statement
from sqlext.rewriter.rules.rule_text import check_rule_text
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.scan import explained, is_extended
from sqlext.rewriter.statements.script import ScriptStatement, check_bound_before, flat_statements
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.fragments import Fragment

Check = Callable[[str], None]


def check_text(text: str, check: Check | None = None) -> list[SqlExtError]:
    """The errors of all statements of a file, with places in the file.

    `check` is called for the statements whose syntax is right; it raises further errors.

    >>> errors = check_text("SELECT 1;\\nSELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)")
    >>> [(error.error_class, error.place.line) for error in errors]
    [('SQLEXT_UNKNOWN_PATTERN_VARIABLE', 2)]
    """
    try:
        statements = list(file_statements(text))
    except SqlExtError as error:
        return [error]
    errors: list[SqlExtError] = []
    for statement in statements:
        in_statement = _errors(statement.text) or ([] if check is None else _errors(statement.text, check))
        errors += (error.moved(text, statement.start) for error in in_statement)
    return errors


def has_ours(text: str) -> bool:
    """Return True if a file has a statement of ours, or may have one, because it cannot be read.

    >>> has_ours("SELECT 1; CREATE TABLE t (n INT)"), has_ours("SHOW STREAMING TABLES"), has_ours("SELECT 'x")
    (False, True, True)
    """
    try:
        return any(map(_is_ours, file_statements(text)))
    except SqlExtError:
        return True


def _is_ours(statement: Fragment) -> bool:
    text = statement.text
    if is_rule_statement(text) or is_extended(text) or parse_command(text) is not None:
        return True
    target = parse_target(text)
    return (target is not None and not target.is_insert) or ("BEGIN" in text.upper() and mentions_rules(text))


def warnings_of(text: str) -> list[tuple[int, str]]:
    """The line of each statement of a file that has no error, with each of its warnings.

    >>> warnings_of("SELECT 1;\\nSELECT * FROM t MATCH_RECOGNIZE (ORDER BY i PATTERN (A) DEFINE A AS 1 = 2)")
    [(2, 'MATCH_RECOGNIZE: PATTERN can never match: no row can be A, because 1 = 2 is never true.')]
    """
    warnings: list[tuple[int, str]] = []
    with suppress(SqlExtError):
        for statement in file_statements(text):
            with suppress(SqlExtError):
                if is_extended(statement.text) and not is_rule_statement(statement.text):
                    start = statement.start + len(statement.text) - len(statement.text.lstrip())
                    line = text.count("\n", 0, start) + 1
                    query = explained(statement.text)
                    found = parse_statement(query.text if query is not None else statement.text).warnings
                    warnings += ((line, sentence) for sentence in found)
    return warnings


def _errors(text: str, check: Check | None = None) -> list[SqlExtError]:
    """The errors that `check` raises for one statement."""
    try:
        (check or check_syntax)(text)
    except SqlExtErrors as error:
        return error.errors
    except SqlExtError as error:
        return [error]
    return []


def check_syntax(text: str) -> None:
    """Raise the errors of one statement that its text alone shows.

    >>> check_syntax("SELEC plain Spark SQL FROM is not ours")
    """
    statements = list(flat_statements(text)) if "BEGIN" in text.upper() else []
    if not statements:
        _check_statement(text)
    raise_all([error for statement in statements for error in _errors_in_script(statement)])


def _errors_in_script(statement: ScriptStatement) -> list[SqlExtError]:
    """The errors of a statement, with places in the script. A block is checked as a script of its own."""
    text, by = statement.text[statement.start : statement.stop], statement.start
    if statement.is_block:
        text, by = f"BEGIN {text}; END", by - len("BEGIN ")
    return [error.moved(statement.text, by) for error in _errors(text, _check_statement)]


def _check_statement(text: str) -> None:
    if is_rule_statement(text):
        _check_rule(text)
        return
    parse_target(text)
    parse_command(text)
    if is_extended(text):
        _check_extended(text)


def _check_rule(text: str) -> None:
    statement = parse_rule_statement(text)
    clause = statement and statement.definition and statement.definition.clause
    if clause:
        try:
            check_rule_text(clause.text)
        except SqlExtError as error:
            raise error.moved(text, clause.start) from None


def _check_extended(text: str) -> None:
    query = explained(text)
    if query is not None:
        try:
            check_syntax(query.text)
        except SqlExtError as error:
            raise error.moved(text, query.start) from None
        return
    head = parse_head(text)
    if head is not None and head.verb == CREATE_VIEW:
        parse_create_view(text)
    check_no_function(text)
    statement = parse_statement(text)
    check_bound_before(text, [part.whole for part in statement.parts])
