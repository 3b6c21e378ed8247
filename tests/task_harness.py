"""Tasks from the text or the tree of a pattern, for all tests that need no SQL."""

from __future__ import annotations

from typing import Any

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.nfa_compile import compile_nfa, is_contiguous, skeleton
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import NO_SKIP
from sqlext.pattern.task.task import MatchTask, Skip, Task
from sqlext.rewriter.match.parse_pattern import parse_pattern


def tree_of(pattern: str) -> tuple[ast.Pattern, tuple[str, ...]]:
    """The tree of a pattern, and its variables in the order of first use."""
    tree, names = parse_pattern(pattern, 0, len(pattern))
    return tree, tuple(name.key for name in names)


def contiguous_task(tree: ast.Pattern, labels: tuple[str, ...], **options: Any) -> MatchTask:
    """A task in which label l needs mask bit l; `options`: other fields of the task."""
    return MatchTask(program=compile_pattern(tree, labels), **_fields(labels, options))


def cep_task_of(tree: ast.Pattern, labels: tuple[str, ...], **options: Any) -> CepTask:
    """The same as a CEP task."""
    program, nfa = compile_pattern(skeleton(tree), labels), compile_nfa(tree, labels)
    return CepTask(program=program, nfa=nfa, **_fields(labels, options))


def any_task(tree: ast.Pattern, labels: tuple[str, ...], **options: Any) -> Task:
    """A CEP task where the pattern or the options need one, otherwise a contiguous task."""
    is_between, output = options.pop("is_between", False), options.get("output")
    needs_cep = not is_contiguous(tree) or options.get("skip", Skip()).mode == NO_SKIP or is_between
    if needs_cep or (output is not None and output.shows_timeouts):
        return cep_task_of(tree, labels, is_between=is_between, **options)
    return contiguous_task(tree, labels, **options)


def _fields(labels: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    return {"bits": tuple(range(len(labels))), "conditions": (None,) * len(labels), **options}
