"""The page of the public functions and classes of `sqlext`, from their signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import sqlext

_EXAMPLE = re.compile(r"(?:^ *>>> .*\n?(?:^(?! *>>>) *\S.*\n?)*)+", re.MULTILINE)
_SKIPPED = re.compile(r" *# doctest: .*$", re.MULTILINE)


def api_page() -> str:
    """The page as Markdown."""
    lines = ["# Docstrings", "", "What `import sqlext` has; everything else may change.", ""]
    named = {name: getattr(sqlext, name) for name in sqlext.__all__}
    for title, is_kind in (("Functions", inspect.isfunction), ("Classes", inspect.isclass)):
        lines += [f"## {title}", ""]
        for name, value in named.items():
            if is_kind(value):
                lines += [f"### {name}", "", *_description(name, value)]
    return "\n".join(lines) + "\n"


def _description(name: str, value: Any) -> list[str]:
    if not inspect.isfunction(value):
        members = inspect.getmembers(value, lambda member: isinstance(member, property) or inspect.isfunction(member))
        public = ((n, member) for n, member in members if not n.startswith("_") and n in vars(value))
        own = [(n, member) for n, member in public if inspect.getdoc(member)]
        lines = [_documentation(value), ""]
        return lines + [f"- `{name}.{n}`: {_first_sentence(member)}" for n, member in own] + [""] * bool(own)
    source = ast.parse(inspect.getsource(value)).body[0]
    assert isinstance(source, ast.FunctionDef) and source.returns
    call = f"sqlext.{name}({ast.unparse(source.args)}) -> {ast.unparse(source.returns)}"
    return ["```python", call, "```", "", _documentation(value), ""]


def _documentation(value: Any) -> str:
    """The docstring, with its `>>>` examples as code."""
    text = inspect.getdoc(value) or ""
    code = _EXAMPLE.sub(lambda match: f"\n```python\n{_SKIPPED.sub('', match[0]).strip()}\n```\n", text)
    return re.sub(r"\n{3,}", "\n\n", code).strip()


def _first_sentence(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
