"""The page "Where a rule lives": the first sentence of each module, by folder, from the top floor down.

`python -m website.module_page [WORD …]` prints the lines that have all the words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The floors of ARCHITECTURE.md; `pyproject.toml` has the contracts.
FLOORS = (
    "sqlext/cli", "sqlext/notebooks", "sqlext/playground", "sqlext/sessions", "sqlext/engine", "sqlext/formatting",
    "catalog", "rewriter", "sqlext/operators", "sqlext/pattern", "sqlext/aggregates", "sqlext/expressions",
    "sqlext/spark", "sqlext",
)  # fmt: skip
_BEGIN = """# Where a rule lives

The first sentence of each module, by folder, from the top floor of the [architecture](architecture.md) down. A fact has
one place: search this page for its words, or run `python -m website.module_page WORD …` in a checkout.
"""
_END_OF_SENTENCE = re.compile(r"(?<=\.)\s+|\n\n")


def module_page() -> str:
    """The page as Markdown."""
    lines = [_BEGIN]
    for folder in folders():
        lines += [f"## {_name(folder)}", "", first_sentence(folder / "__init__.py"), ""]
        lines += ["| module | |", "|---|---|"] * bool(modules(folder))
        lines += [f"| `{path.name}` | {_cell(first_sentence(path))} |" for path in modules(folder)]
        lines.append("")
    return "\n".join(lines)


def folders() -> list[Path]:
    """The folders of the package, by floor."""
    found: dict[Path, None] = {}
    for floor in FLOORS:
        deep = floor != "sqlext"
        inits = (ROOT / floor).rglob("__init__.py") if deep else [ROOT / floor / "__init__.py"]
        found |= dict.fromkeys(sorted(path.parent for path in inits))
    return list(found)


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py"))


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(_END_OF_SENTENCE.split(text, maxsplit=1)[0].split())


def _name(folder: Path) -> str:
    return f"{folder.relative_to(ROOT).as_posix()}/"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _lines() -> Iterator[str]:
    for folder in folders():
        for path in modules(folder):
            yield f"{_name(folder)}{path.name}: {first_sentence(path)}"


if __name__ == "__main__":
    words = [word.lower() for word in sys.argv[1:]]
    print("\n".join(line for line in _lines() if all(word in line.lower() for word in words)))
