"""The automaton of a pattern, as the page draws it: a node for each element, an arrow for each way between them."""

from __future__ import annotations

from typing import Any

from sqlext.pattern.cep.nfa_compile import skeleton
from sqlext.pattern.program.automaton import DONE, automaton, targets_after, targets_from
from sqlext.pattern.program.elements import elements, elements_of
from sqlext.rewriter.lowering.lower_conjuncts import SearchPlan


def automaton_of(plan: SearchPlan) -> dict[str, Any]:
    """`elements`: the variables of PATTERN with their quantifiers and places, in order; `begins`: those at which a
    match may begin; `edges`: (element, element) where one may follow the other; `ends`: those after which a match may
    be complete."""
    pattern, text = plan.clause.pattern, plan.clause.whole.source
    tables = automaton(plan.task.program, plan.task.bits)
    known = elements_of(skeleton(pattern))
    element_at = [known[i] for i in tables.graph.instruction.tolist()]
    numbers = [0 if element is None else element[0] for element in element_at]
    after = targets_after(tables.graph)
    begins = targets_from(tables.graph, 0, at_start=True)
    edges = {(numbers[i], numbers[j]) for i, targets in enumerate(after) for j in targets if j != DONE}
    return {
        "elements": [
            {"variable": e.name, "text": text[e.whole[0] : e.whole[1]], "start": e.whole[0], "stop": e.whole[1]}
            for e in elements(pattern)
        ],
        "begins": sorted({numbers[i] for i in begins if i != DONE}),
        "edges": sorted(edges),
        "ends": sorted({numbers[i] for i, targets in enumerate(after) if DONE in targets}),
    }
