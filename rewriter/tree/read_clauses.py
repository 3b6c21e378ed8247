"""All clauses of one kind in a statement, or all that is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from sqlext.errors import all_of
from sqlext.rewriter.text.fragments import Fragment


class Clause(Protocol):
    """A clause that knows where in the statement it stands."""

    @property
    def whole(self) -> Fragment: ...


C = TypeVar("C", bound=Clause)


def read_clauses(keywords: Iterable[int], read: Callable[[int], C]) -> tuple[C, ...]:
    """What `read` makes of the clauses whose keywords are these tokens; a clause inside another comes before it.

    Raises the SqlExtError of the one clause that cannot be read, or SqlExtErrors with those of all of them.
    """
    return tuple(sorted(all_of(keywords, read), key=lambda clause: clause.whole.stop))
