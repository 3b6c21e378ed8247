"""What `sqlext rules list | add | check | disable` do on a session."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyspark.sql import SparkSession

from sqlext.cli.try_rule import Trial, try_rule
from sqlext.engine.queries.quoted_names import names_in_backticks
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.rules.rule_statements import CREATE, DESCRIBE, SHOW, RuleStatement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.text.names import quote, quoted, split_name
from sqlext.rewriter.text.tokens import tokenize
from sqlext.sessions import results
from sqlext.sessions.hook import unhooked


def list_rules(spark: SparkSession, statements: Sequence[str], options: argparse.Namespace) -> None:
    """Print the rules of a table."""
    _show(spark, quote(split_name(options.table)))


def add_rules(spark: SparkSession, statements: Sequence[str], options: argparse.Namespace) -> None:
    """Run statements about rules, and print the rules of their tables. If any statement is not about rules, none is
    run."""
    parsed = [_about_rules(text) for text in statements]
    for text in statements:
        spark.sql(text, dict(options.param) or None)
    for table in dict.fromkeys(quote(statement.table.parts) for statement in parsed):
        _show(spark, table)


def disable_rule(spark: SparkSession, statements: Sequence[str], options: argparse.Namespace) -> None:
    """Disable a rule."""
    table = quote(split_name(options.on))
    spark.sql(f"ALTER PATTERN RULE {quoted(options.name)} ON {table} DISABLE")
    _show(spark, table)


def check_rules(spark: SparkSession, statements: Sequence[str], options: argparse.Namespace) -> None:
    """Check the rules of a file, and print what each would have matched. Nothing is stored."""
    trial = Trial(
        partition=tuple(split_name(name.strip()) for name in options.partition_by.split(",") if name.strip()),
        order=None if options.order_by is None else split_name(options.order_by),
        rows=options.rows,
    )
    for i, text in enumerate(statements):
        call = SqlCall(spark=spark, sql=unhooked(spark), text=text, args=dict(options.param) or None)
        with names_in_backticks(call) as call:
            statement = _about_rules(call.text, CREATE)
            events, matches = try_rule(call, statement, trial)
            matches.persist()
        if i:
            print()
        count = matches.count()
        matched = "1 match" if count == 1 else f"{count:,} matches"
        print(f"{statement.rule}: {matched} in the last {trial.rows:,} rows of {events}")
        if count:
            results.write_result(matches, options.limit, None, None)
        matches.unpersist()


def _about_rules(text: str, *verbs: str) -> RuleStatement:
    """The statement about rules. Raises UnsupportedError for any other statement, or for a verb that is not in
    `verbs`."""
    statement = read_statement(text)
    if isinstance(statement, RuleStatement):
        is_wanted = statement.verb in verbs if verbs else statement.verb not in (SHOW, DESCRIBE)
        if is_wanted:
            return statement
    first = tokenize(text)[0]
    wanted = "CREATE PATTERN RULE" if verbs else "CREATE, ALTER or DROP PATTERN RULE"
    raise UnsupportedError(
        "RULE_FILE",
        f"this is not {wanted}",
        place=Place(text, first.start, first.stop),
        hint="sqlext run FILE runs other statements.",
    )


def _show(spark: SparkSession, table: str) -> None:
    results.write_result(spark.sql(f"SHOW PATTERN RULES ON {table}"), None, None, None)
