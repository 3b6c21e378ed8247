"""The sources as the tests of this folder read them: the package's modules with their imports, and the documents."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {"sqlext": "sqlext", "rewriter": "sqlext.rewriter", "catalog": "sqlext.catalog"}  # folder: package


@dataclass(frozen=True, kw_only=True)
class Import:
    """`imported` is one of our modules, or the top-level package of another distribution."""

    importer: str
    imported: str
    in_function: bool
    for_types: bool

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}"


@dataclass(frozen=True)
class Module:
    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))


def _modules() -> Iterator[Module]:
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if folder == "sqlext" and parts[0] in FOLDERS:
                continue  # a link to one of the other folders
            name = ".".join((package, *parts)).removesuffix(".__init__")
            yield Module(name, path)


MODULES = {module.name: module for module in _modules()}


def imports(module: Module) -> Iterator[Import]:
    """All imports of a module, those inside functions and under TYPE_CHECKING included."""
    yield from _imports(module, module.tree, in_function=False, for_types=False)


def _imports(module: Module, node: ast.AST, *, in_function: bool, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            continue  # an expression, which holds no statement
        for imported in _imported(module, child):
            if imported != module.name:
                yield Import(importer=module.name, imported=imported, in_function=in_function, for_types=for_types)
        yield from _imports(
            module,
            child,
            in_function=in_function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)),
            for_types=for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)),
        )


def _imported(module: Module, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [_ours_or_top(alias.name) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        parents = module.name.split(".")[: -node.level + (module.path.name == "__init__.py") or None]
        base = ".".join([*parents, *([node.module] if node.module else [])])
    return [_ours_or_top(name if (name := f"{base}.{alias.name}") in MODULES else base) for alias in node.names]


def _ours_or_top(name: str) -> str:
    return name if name in MODULES else name.partition(".")[0]
