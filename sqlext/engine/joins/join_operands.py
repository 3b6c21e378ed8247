"""The operands of a join on time as WHY pairs them: their rows, whole, and the names that qualify their columns."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from sqlext.engine.joins.join_members import members
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.reports.row_json import row_json
from sqlext.errors import UnsupportedError
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text, join


@dataclass(frozen=True, kw_only=True)
class Operand:
    """`relation`: its text for Spark, with a name of ours if it is one relation without a name. `qualifier`: the name
    that qualifies all of its columns; None if it joins several relations. `name`: that name as the user wrote it; None
    if the user gave it none. `row`: SQL for a whole row, which is a struct of the rows of several relations. `members`:
    the names of these relations."""

    relation: Text
    qualifier: str | None
    name: str | None
    row: str
    members: tuple[str, ...] = ()

    @property
    def distinct(self) -> Operand:
        """The operand with one of several equal rows, if it is one relation."""
        if self.qualifier is None:
            return self
        number = join("row_number() OVER (PARTITION BY ", row_json(self.row), " ORDER BY 1) AS __number")
        numbered = join(f"SELECT {self.qualifier}.*, ", number, " FROM ", self.relation)
        once = join("(SELECT * EXCEPT (__number) FROM (", numbered, f") WHERE __number = 1) AS {self.qualifier}")
        return replace(self, relation=once)

    @property
    def is_missing(self) -> str:
        """SQL for whether all columns of `row` are NULL, as where an outer join has no row of this relation."""
        nothing = f"{{{','.join(f'{json.dumps(unquoted(name), ensure_ascii=False)}:{{}}' for name in self.members)}}}"
        return f"(to_json({self.row}, map('ignoreNullFields', 'true')) = {string_literal(nothing)})"


def operand_of(sides: JoinSides, side: str) -> Operand:
    """An operand of the join. Raises UnsupportedError if it joins several relations, and one of them has no name."""
    relation, tree, joined = sides.relations[side], sides.tree, members(sides, side)
    names = [tree.name_of(member) for member in joined]
    if len(joined) == 1:
        (name,) = names
        own = f"__{side}" if name is None else name.text
        text = join(relation, f" AS {own}") if name is None else relation
        row = _row(sides, own)
        return Operand(relation=text, qualifier=own, name=name.text if name else None, row=row)
    known = [name.text for name in names if name is not None]
    if len(known) < len(joined):
        member = next(member for member, name in zip(joined, names) if name is None)
        raise UnsupportedError(
            "WHY",
            "WHY explains a join of joined relations if each of them has a name",
            place=tree.fragment(member.start, member.stop).place,
            hint="name the relation in WITH, or give it an alias.",
        )
    rows = [f"{string_literal(unquoted(name))}, {_row(sides, name)}" for name in known]
    row = f"named_struct({', '.join(rows)})"
    return Operand(relation=relation, qualifier=None, name=None, row=row, members=tuple(known))


def _row(sides: JoinSides, qualifier: str) -> str:
    """SQL for the columns of a relation, without those that only rewritten joins need."""
    hidden = sides.hidden.get(unquoted(qualifier).lower(), ())
    left_out = f" EXCEPT ({', '.join(hidden)})" if hidden else ""
    return f"struct({qualifier}.*{left_out})"
