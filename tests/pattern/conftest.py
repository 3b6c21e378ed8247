"""One Numba cache for each version of the code.

Numba trusts its cache as long as a kernel's own file is unchanged, although kernels call into other files. A version is
a hash of all code in `pattern`, without comments and docstrings.
"""

from __future__ import annotations

import ast
import hashlib
import tempfile
from pathlib import Path

import numba

import sqlext.pattern


def _code(source: Path) -> str:
    tree = ast.parse(source.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            del node.body[0]
    return f"{source.name} {ast.dump(tree)}"


_SOURCES = sorted(Path(sqlext.pattern.__file__).parent.rglob("*.py"))
_VERSION = hashlib.sha256("".join(map(_code, _SOURCES)).encode()).hexdigest()[:16]
numba.config.CACHE_DIR = str(Path(tempfile.gettempdir()) / f"sqlext-numba-{_VERSION}")
