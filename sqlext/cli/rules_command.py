"""`sqlext rules list | add | check | disable`: pattern rules from the command line."""

from __future__ import annotations

from typing import Any

from sqlext.cli.option_types import row_count
from sqlext.cli.session_options import session_command, statements_command

TRIAL_ROWS = 10_000  # for `sqlext rules check`
_PURPOSE = "list, add, check or disable the pattern rules of a table"


def add_command(commands: Any) -> None:
    """Add `rules …` to the parser."""
    rules = commands.add_parser("rules", help=_PURPOSE, description=_PURPOSE)
    actions = rules.add_subparsers(dest="rules_command", required=True, metavar="ACTION")
    listed = session_command(actions, "list", "list the rules of a table", "list_rules")
    listed.add_argument("table", metavar="TABLE")
    statements_command(actions, "add", "run the CREATE, ALTER and DROP PATTERN RULE of a file", "add_rules")
    checked = statements_command(actions, "check", "check rules, and show what they would have matched", "check_rules")
    checked.add_argument(
        "--rows", type=row_count, default=TRIAL_ROWS, metavar="N", help="over the last N rows (%(default)s)"
    )
    checked.add_argument(
        "--partition-by", default="", metavar="COLUMNS", help="PARTITION BY of MATCH_RULES (default: none)"
    )
    checked.add_argument("--order-by", metavar="COLUMN", help="its ORDER BY (default: the first column of times)")
    checked.add_argument("--limit", type=row_count, metavar="N", help="show the first N matches of a rule")
    disabled = session_command(actions, "disable", "disable a rule", "disable_rule")
    disabled.add_argument("name", metavar="NAME")
    disabled.add_argument("--on", required=True, metavar="TABLE", help="the table of the rule")
