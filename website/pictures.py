"""Draws the patterns of the documents: `python -m website.pictures` writes docs/cookbook/pictures/ and the pictures of
docs/why.md and of the home page anew.

A recipe has a picture of its pattern if one of its first statements, or its first rule, has a MATCH_RECOGNIZE, and one
of partners if it is about a join on time (`join_pictures`). The same recipe gives the same bytes.
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
from website.examples import LINK
from website.home_picture import home_picture
from website.join_pictures import JOINS

DOCS = Path(__file__).parents[1] / "docs"
COOKBOOK = DOCS / "cookbook"
_RULE = re.compile(r"^CREATE PATTERN RULE .*?^AS MATCH_RECOGNIZE \(", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pictures() -> dict[Path, str]:
    """The text of each picture by its file."""
    found = {DOCS / "why_automaton.svg": _picture_of_counts(), DOCS / "home.svg": _picture_of_home()}
    for recipe in sorted(COOKBOOK.glob("*.md")):
        picture = None if recipe.name == "README.md" else _picture_of_recipe(recipe)
        if picture is not None:
            found[COOKBOOK / "pictures" / f"{recipe.stem}.svg"] = picture + "\n"
    return found


def _picture_of_home() -> str:
    """What the statement of the home page finds in the rows of the recipe about account takeover."""
    block = _BLOCK.search((DOCS / "README.md").read_text("utf-8"))
    assert block is not None
    return home_picture(block[1].strip(), _script(COOKBOOK / "account-takeover.md")[0]) + "\n"


def _picture_of_recipe(recipe: Path) -> str | None:
    script, result = _script(recipe)
    if recipe.stem in JOINS:
        return JOINS[recipe.stem].svg(script, result)
    statements = (statement.text for statement in file_statements(script))
    queries = (_RULE.sub("SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts ", text) for text in statements)
    query = next((text for text in queries if scan(text)), None)
    return None if query is None else sqlext.draw(query, counts=False).svg


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


def _script(recipe: Path) -> tuple[str, list[list[str]]]:
    """The statements of a recipe, and the rows of the result that is shown with them."""
    text = recipe.read_text("utf-8")
    example = LINK.search(text)
    block = _BLOCK.search(text)
    if example is not None:
        script = (COOKBOOK / example[1]).read_text("utf-8")
        if " JOIN " not in script or "VALUES" in script:
            return script, [line.removeprefix("-- ").split("\t") for line in script.splitlines() if "\t" in line]
    if block is None:
        return "", []
    lines = re.findall(r"^-- (.*)$", block[1], re.MULTILINE)
    return block[1], [re.split(r"  +", line) for line in lines]


if __name__ == "__main__":
    for file, picture in pictures().items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(picture, "utf-8")
