"""Warns of conditions in DEFINE that can never hold where they are tested, so that a pattern never begins or matches.

Only what the text shows is used, whatever the rows and the types of columns are: navigations to rows that cannot be
there yet are NULL (`A AS A.v < B.v` before any B; `late AS late.t > LAST(late.t, 1)` on the first late), numbers that
exclude each other (`v > 5 AND v < 3`), and constants. Everything else is taken to be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlext.errors import SqlExtError
from sqlext.pattern.cep.nfa_compile import is_contiguous, skeleton
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.program.mapped_variables import (
    first_rows,
    labels_before,
    mandatory_variables,
    opening_without_anchor,
)
from sqlext.pattern.program.program import MatchLabel, Program
from sqlext.rewriter.conditions.contradiction import contradicts_itself
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.analyse import analyse
from sqlext.rewriter.scalars.expression import COMPARISONS, Node, own_items, parse
from sqlext.rewriter.scalars.references import Item, Reference, Scope, place_of
from sqlext.rewriter.scalars.render import render
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.lexemes import Lexeme, names_in
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source, join
from sqlext.rewriter.text.tokens import tokenize

# NULL if one of their operands is; of BETWEEN and IN only the value that is tested decides
_STRICT = COMPARISONS - {"<=>"} | {
    "+", "-", "*", "/", "%", "DIV", "||", "negate", "CAST", "TRY_CAST", "field", "LIKE", "ILIKE", "RLIKE", "NOT",
}  # fmt: skip
_STRICT_FUNCTIONS = (
    "abs", "ceil", "floor", "round", "sqrt", "lower", "upper", "trim", "length", "datediff", "date_diff",
    "timestampdiff", "unix_micros", "unix_millis", "unix_seconds", "unix_date",
)  # fmt: skip
_IS_CONSTANT = "is never true."  # deliberate where a match need not have such a row
_NULL_OF_NO_ROWS = frozenset({"sum", "avg", "min", "max"})
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b, "==": lambda a, b: a == b, "<>": lambda a, b: a != b, "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def never_holds(clause: MatchClause) -> list[str]:
    """Sentences about the variables of a clause that no row, or no first row, can be.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.statements.scan import scan
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i PATTERN (a b) DEFINE a AS a.v < b.v)"
    >>> (site,) = scan(text)
    >>> print(never_holds(parse_match(text, read_tree(text).tokens, site))[0])  # doctest: +ELLIPSIS
    PATTERN can never match: no row can be a, because b.v is NULL there: no row is mapped to b before it. To compare ...
    """
    try:
        program = compile_pattern(skeleton(clause.pattern), clause.labels)
        conditions = _conditions(clause)
    except SqlExtError:
        return []  # the clause has an error, which is reported elsewhere
    before = labels_before(program)
    mandatory = mandatory_variables(clause.pattern)
    what = {True: "PATTERN can never match: no row", False: "no row"}
    never = _reasons(clause, conditions, {label: before[label] for label in _labels_of_rows(program)})
    never = {name: why for name, why in never.items() if name in mandatory or not why.endswith(_IS_CONSTANT)}
    if never or not mandatory:
        return [f"{what[name in mandatory]} can be {_shown(clause, name)}, {why}" for name, why in never.items()]
    opening = sorted(first_rows(program).opening)
    edges = frozenset(opening) - opening_without_anchor(program) if is_contiguous(clause.pattern) else frozenset()
    first = _reasons(clause, conditions, dict.fromkeys(opening, frozenset()), edges)
    if len(first) < len(opening):
        return []
    begins = "PATTERN can never begin: the first row of a match cannot be"
    return [f"{begins} {_shown(clause, name)}, {why}" for name, why in first.items()]


def _shown(clause: MatchClause, key: str) -> str:
    """A variable or a SUBSET as the user wrote it."""
    names = (*clause.pattern_variables, *(subset.name for subset in clause.subsets))
    return next(name.text for name in names if name.key == key)


def _labels_of_rows(program: Program) -> list[int]:
    """The labels that a row of a match can have, and not only the row of an absence."""
    return sorted({x.label for x in program.instructions if isinstance(x, MatchLabel)})


def _conditions(clause: MatchClause) -> dict[str, list[Item]]:
    """The items of each condition, where each name that is no variable is taken to be a column."""
    variables: dict[str, object] = dict.fromkeys(clause.labels)
    variables.update((subset.name.key, None) for subset in clause.subsets)
    names: set[str] = set().union(*(names_in(d.condition) for d in clause.definitions))
    columns = tuple(sorted(names - {name.lower() for name in variables}))
    result = {}
    for definition in clause.definitions:
        source = Source(definition.condition.source)
        scope = Scope(source=source, variables=variables, columns=columns, in_define=True)
        result[definition.variable.key] = analyse(definition.condition, scope)
    return result


def _reasons(
    clause: MatchClause,
    conditions: dict[str, list[Item]],
    before: Mapping[int, frozenset[int]],
    edges: frozenset[int] = frozenset(),
) -> dict[str, str]:
    """For each variable that never holds the reason. `before`: the labels that rows before one of each label may have;
    `edges`: the labels that are only tested on the first row of a partition."""
    sets = {name: frozenset({label}) for label, name in enumerate(clause.labels)}
    for subset in clause.subsets:
        sets[subset.name.key] = frozenset().union(*(sets[member.key] for member in subset.members))
    result = {}
    for label, earlier in before.items():
        name = clause.labels[label]
        if name in conditions:
            tested = _Tested(clause, conditions[name], label, sets, earlier, is_edge=label in edges)
            if why := tested.why_never():
                result[name] = why
    return result


@dataclass(frozen=True)
class _Tested:
    """A condition of a label, tested on a row before which only rows with the labels `before` may be mapped.

    `sets`: the labels of each variable; `is_edge`: the row is the first one of its partition.
    """

    clause: MatchClause
    items: list[Item]
    label: int
    sets: dict[str, frozenset[int]]
    before: frozenset[int]
    is_edge: bool

    def why_never(self) -> str:
        """The end of a sentence that says why the condition never holds, and what to write; "" if it may hold."""
        root = parse(self.items, 0, len(self.items))
        for node in self._conjuncts(root):
            if self._is_never(node):
                return self._why(node)
        return self._contradiction(root)

    def _conjuncts(self, node: Node) -> Iterator[Node]:
        if node.kind == "AND":
            for child in node.children:
                yield from self._conjuncts(child)
        else:
            yield node

    def _is_never(self, node: Node) -> bool:
        """Whether a condition is certainly not TRUE."""
        if node.kind == "OR":
            return all(map(self._is_never, node.children))
        if node.kind == "AND":
            return any(map(self._is_never, node.children))
        if node.kind == "NOT" and node.children[0].kind == "IS NULL":
            return self._is_null(node.children[0].children[0])
        if node.kind == "BETWEEN":
            return any(map(self._is_null, node.children))
        return self._is_null(node) or self._is_false(node)

    def _is_null(self, node: Node) -> bool:
        if node.kind == "reference":
            reference = self._reference(node)
            return reference is not None and self._reads_nothing(reference)
        if node.kind == "literal":
            return self._words(node) == ["NULL"]
        if node.kind in ("BETWEEN", "IN"):
            return self._is_null(node.children[0])
        if node.kind in _STRICT or (node.kind == "call" and node.name in _STRICT_FUNCTIONS):
            return any(map(self._is_null, node.children))
        return False

    def _is_false(self, node: Node) -> bool:
        """Whether the condition is FALSE, or a comparison of two integers that does not hold."""
        if node.kind == "literal":
            return self._words(node) == ["FALSE"]
        if node.kind not in _NUMBERS or any(child.kind not in ("literal", "negate") for child in node.children):
            return False
        values = ["".join(self._words(child)) for child in node.children]
        if not all(value.lstrip("-").isdecimal() for value in values):
            return False
        return not _NUMBERS[node.kind](*map(int, values))

    def _reads_nothing(self, reference: Reference) -> bool:
        """Whether the rows that a reference reads cannot be there."""
        labels = None if reference.variable is None else self.sets[reference.variable]
        is_own = labels is None or self.label in labels
        if reference.kind == "aggregate":
            is_empty = labels is not None and not is_own and not labels & self.before
            return is_empty and reference.function in _NULL_OF_NO_ROWS
        if reference.kind != "navigation":
            return False
        if labels & self.before if labels is not None else self.before:
            return False
        return not is_own or reference.offset > 0 or (self.is_edge and reference.step < 0)

    def _contradiction(self, root: Node) -> str:
        """As `why_never`, for conjuncts on the row alone that exclude each other."""
        conjuncts = [self.items[node.start : node.stop] for node in self._conjuncts(root)]
        local = [items for items in conjuncts if all(map(self._is_of_row, items))]
        if not local:
            return ""
        texts = [
            render(items, Source(self.clause.keyword.source), lambda reference: reference.arguments[0])
            for items in local
        ]
        condition = str(join(*(join("(", text, ")") for text in texts), separator=" AND "))
        names = {unquoted(token.text).lower() for token in tokenize(condition) if token.is_name}
        # As the columns may be FLOAT, larger numbers than a FLOAT holds exactly are not used.
        if not contradicts_itself(condition, dict.fromkeys(names, "float")):
            return ""
        return f"because no value satisfies {' AND '.join(map(self._written, local))}."

    def _is_of_row(self, item: Item) -> bool:
        if not isinstance(item, Reference):
            return True
        labels = None if item.variable is None else self.sets[item.variable]
        is_current = (
            not item.from_first and not item.offset and not item.step and (labels is None or self.label in labels)
        )
        return item.kind == "navigation" and is_current

    def _why(self, node: Node) -> str:
        items = self.items[node.start : node.stop]
        empty = next((x for x in items if isinstance(x, Reference) and self._reads_nothing(x)), None)
        if empty is None:
            return f"because {self._written(items)} {_IS_CONSTANT}"
        written, variable = in_line(empty.place.written), empty.variable
        is_own = variable is None or self.label in self.sets[variable]
        if is_own and not empty.offset:
            why = "under ^ no row of the partition precedes it"
        else:
            name = "" if variable is None else _shown(self.clause, variable)
            why = "no row of the match precedes it" if is_own else f"no row is mapped to {name} before it"
        cure = f"Add OR {written} IS NULL, or begin PATTERN with a variable that has no such condition."
        if not is_own and not empty.offset:
            cure = "To compare with a later row, write the condition at the variable of that row."
        return f"because {written} is NULL there: {why}. {cure}"

    def _written(self, items: Sequence[Item]) -> str:
        return in_line(place_of(items, Source(self.clause.keyword.source)).written)

    def _reference(self, node: Node) -> Reference | None:
        return next((x for x in self.items[node.start : node.stop] if isinstance(x, Reference)), None)

    def _words(self, node: Node) -> list[str]:
        return [x.word for x in own_items(node, self.items) if isinstance(x, Lexeme)]
