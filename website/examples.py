"""Shows a file of sql_examples/: what it is about, its statements, and the rows that `sqlext run` prints."""

from __future__ import annotations

import re
from pathlib import Path

# A paragraph that is nothing but a link to an example, which takes its place on the site.
LINK = re.compile(r"^\[[^\]]*\]\(([./]*sql_examples/[^)]*\.sql)\)$", re.MULTILINE)
_EXPECT = "expect:"


def shown_example(path: Path) -> str:
    """The example as Markdown: the sentences of its header, its text, and a table for each of its results."""
    lines = path.read_text("utf-8").split("\n")
    length = next(i for i, line in enumerate(lines) if not line.startswith("--"))
    header = [line.removeprefix("--").strip(" ") for line in lines[:length]]
    prose, *results = _blocks(header)
    parts = [_escaped("\n".join(prose).strip()), "```sql\n" + "\n".join(lines[length:]).strip() + "\n```"]
    parts += ["Result:\n\n" + _table([line.split("\t") for line in result if line]) for result in results]
    return "\n\n".join(parts)


def _escaped(prose: str) -> str:
    """Sentences in which `a*` and `<` are what they say; what is between backticks is already.

    >>> print(_escaped("a*? is `b*`"))
    a\\*? is `b*`
    """
    pieces = prose.split("`")
    return "`".join(re.sub(r"([*<])", r"\\\1", piece) if i % 2 == 0 else piece for i, piece in enumerate(pieces))


def _blocks(header: list[str]) -> list[list[str]]:
    """The lines before the first `expect:`, then those of each result."""
    blocks: list[list[str]] = [[]]
    for line in header:
        if line == _EXPECT:
            blocks.append([])
        else:
            blocks[-1].append(line)
    return blocks


def _table(rows: list[list[str]]) -> str:
    """Rows as a table, whose first row has the names of the columns."""
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
