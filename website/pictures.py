"""Draws the patterns of the documents: `python -m website.pictures` writes docs/cookbook/pictures/ and the picture of
docs/why.md anew.

A recipe has a picture if one of its first statements has a MATCH_RECOGNIZE; the same recipe gives the same bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

import sqlext
from sqlext.formatting.automaton_picture import svg
from sqlext.pattern.why.automaton import automaton
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.sql_file import file_statements

DOCS = Path(__file__).parents[1] / "docs"
COOKBOOK = DOCS / "cookbook"
_EXAMPLE = re.compile(r"^\[[^\]]*\]\(([./]*sql_examples/[^)]*\.sql)\)$", re.MULTILINE)
_BLOCK = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pictures() -> dict[Path, str]:
    """The text of each picture by its file."""
    found = {DOCS / "why_automaton.svg": _picture_of_counts()}
    for recipe in sorted(COOKBOOK.glob("*.md")):
        statement = _first_statement(recipe) if recipe.name != "README.md" else None
        if statement is not None:
            file = COOKBOOK / "pictures" / f"{recipe.stem}.svg"
            found[file] = sqlext.draw(statement, counts=False).svg + "\n"
    return found


def _picture_of_counts() -> str:
    """The pattern of docs/why.md, with the counts of the report that is shown above it."""
    text = (DOCS / "why.md").read_text("utf-8")
    text = text[text.index("```sql\nEXPLAIN MATCH ANALYZE\n") :]
    query = text.removeprefix("```sql\nEXPLAIN MATCH ANALYZE\n").partition("```")[0]
    reached = [int(n) for n in re.findall(r"^  that reached (?!row )\w+(?:\{\S+)? +(\d+)", text, re.MULTILINE)]
    tried, matches = (
        int(re.search(rf"^{line} +(\d+)", text, re.MULTILINE)[1]) for line in ("start rows tried", "matches")
    )
    clause = parse_statement(query).of(ClauseSite)[0].clause
    return svg(automaton(clause.pattern, query, reached=reached, tried=tried, matches=matches), is_file=True) + "\n"


def _first_statement(recipe: Path) -> str | None:
    """The first statement of a recipe, if it has a MATCH_RECOGNIZE."""
    text = recipe.read_text("utf-8")
    example = _EXAMPLE.search(text)
    block = _BLOCK.search(text)
    if example is not None:
        script = (COOKBOOK / example[1]).read_text("utf-8")
    elif block is not None:
        script = block[1]
    else:
        return None
    statements = (statement.text for statement in file_statements(script))
    return next((statement for statement in statements if scan(statement)), None)


if __name__ == "__main__":
    for file, picture in pictures().items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(picture, "utf-8")
