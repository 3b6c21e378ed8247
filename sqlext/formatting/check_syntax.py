"""Checks the clauses in the statements of a file, without Spark; plain Spark SQL is ignored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from sqlext.errors import SqlExtError, SqlExtErrors, raise_all
from sqlext.rewriter.heads.heads import Head, parse_view
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.rules.rule_text import check_rule_text
from sqlext.rewriter.statements.explain_statement import ExplainStatement
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.read_statement import is_ours, read_statement
from sqlext.rewriter.statements.scan import is_extended
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
        return any(is_ours(statement.text) for statement in file_statements(text))
    except SqlExtError:
        return True


def warnings_of(text: str) -> list[tuple[int, str]]:
    """The line of each statement of a file that has no error, with each of its warnings.

    >>> warnings_of("SELECT 1;\\nSELECT * FROM t MATCH_RECOGNIZE (ORDER BY i PATTERN (A) DEFINE A AS 1 = 2)")
    [(2, 'MATCH_RECOGNIZE: PATTERN can never match: no row can be A, because 1 = 2 is never true.')]
    """
    warnings: list[tuple[int, str]] = []
    with suppress(SqlExtError):
        for statement in file_statements(text):
            with suppress(SqlExtError):
                read = read_statement(statement.text)
                query = read.query.text if isinstance(read, ExplainStatement) else statement.text
                if not isinstance(read, RuleStatement) and is_extended(query):
                    start = statement.start + len(statement.text) - len(statement.text.lstrip())
                    line = text.count("\n", 0, start) + 1
                    warnings += ((line, sentence) for sentence in parse_statement(query).warnings)
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
    statement = read_statement(text)
    if isinstance(statement, ExplainStatement):
        _check_inside(statement.query, check_syntax)
    elif isinstance(statement, RuleStatement):
        if statement.definition is not None:
            _check_inside(statement.definition.clause, check_rule_text)
    elif is_extended(text):
        if isinstance(statement, Head):
            parse_view(statement)
        check_bound_before(text, [part.whole for part in parse_statement(text).parts])


def _check_inside(part: Fragment, check: Check) -> None:
    """Raise the errors of a part of a statement, with places in the statement."""
    try:
        check(part.text)
    except SqlExtError as error:
        raise error.moved(part.source, part.start) from None
