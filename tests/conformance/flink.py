"""Patterns of Flink's CEP API, as calls, in our SQL: `translate` does what the table in README.md says, nothing more.

`CASES` are those of flink_cep.json and flink_random.json. `differences.txt` lists the cases whose answers differ on
purpose, each with its class.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OPENS = {"Pattern": "", "next": "", "followedBy": "->", "followedByAny": "->>", "notNext": "", "notFollowedBy": ""}
SKIPS = {
    "": "NO SKIP",
    "noSkip": "NO SKIP",
    "skipToNext": "SKIP TO NEXT ROW",
    "skipPastLastEvent": "SKIP PAST LAST ROW",
}


@dataclass
class Element:
    """One element of a Flink pattern. `absence`: "", "!" or "!->"; `inner`: the operator inside its loop."""

    operator: str
    name: str = ""
    group: list[Element] = field(default_factory=list)
    absence: str = ""
    condition: str = "true"
    at_least: int = 1
    at_most: int | None = 1
    inner: str = "->"
    is_optional: bool = False
    is_greedy: bool = False
    until: str = ""

    @property
    def is_loop(self) -> bool:
        return (self.at_least, self.at_most) != (1, 1)


@dataclass
class Clause:
    """The content of MATCH_RECOGNIZE. `names[v]`: Flink's name of variable v, "" for those that map no row; `gap_ms`
    bounds the time since the row before for the variables in `bounded`."""

    pattern: str = ""
    define: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    skip: str = "NO SKIP"
    target: str = ""
    within_ms: int | None = None
    gap_ms: int | None = None
    bounded: set[str] = field(default_factory=set)

    def variable(self, name: str, condition: str) -> str:
        """The variable of that name and condition, a new one if there is none."""
        for v, known in self.define.items():
            if (self.names[v], known) == (name, condition):
                return v
        v = re.sub(r"\W", "_", f"{name or 'n'}{len(self.define)}").upper()
        self.define[v], self.names[v] = condition, name
        return v


def translate(calls: list[list[Any]]) -> Clause:
    """The clause of a pattern's calls."""
    elements, bounds = _elements(calls)
    clause = Clause()
    for bound in bounds:
        if bound[1:] == ["PREVIOUS_AND_CURRENT"]:
            clause.gap_ms = bound[0]
        else:
            bound_ms = int(re.sub(r"\D", "", str(bound[0])))  # 10 or "ofMillis(10)"
            clause.within_ms = min(bound_ms, clause.within_ms or bound_ms)
    mode, _, target = str(calls[0][2] if len(calls[0]) > 2 else "").partition("(")
    clause.skip, clause.target = SKIPS.get(mode, mode), target.rstrip(")")
    writer = _Writer(clause, is_every=clause.skip == "NO SKIP")
    clause.pattern = " | ".join(map(writer.sequence, _not_empty(elements)))
    return clause


def _not_empty(elements: list[Element]) -> list[list[Element]]:
    """The pattern without the empty match, which Flink has not: its element sequences, each with one that must be."""
    if not all(e.is_optional for e in elements):
        return [elements]
    return [[replace(e, is_optional=False), *elements[i + 1 :]] for i, e in enumerate(elements)]


def _elements(calls: list[list[Any]]) -> tuple[list[Element], list[list[Any]]]:
    """The elements, and the arguments of `within`."""
    elements: list[Element] = []
    bounds: list[list[Any]] = []
    for name, *arguments in calls:
        if name in OPENS:
            elements.append(Element(OPENS[name], absence={"notNext": "!", "notFollowedBy": "!->"}.get(name, "")))
            if isinstance(arguments[0], list):
                elements[-1].group, inner = _elements(arguments[0])
                bounds += inner
            else:
                elements[-1].name = arguments[0]
        elif name == "within":
            bounds.append(arguments)
        else:
            _modify(elements[-1], name, arguments)
    return elements, bounds


def _modify(e: Element, name: str, arguments: list[Any]) -> None:
    if name in ("where", "subtype", "or"):
        condition = f"type = '{arguments[0]}'" if name == "subtype" else f"({arguments[0]})"
        joined = f"({e.condition} OR {condition})" if name == "or" else f"{e.condition} AND {condition}"
        e.condition = condition if e.condition == "true" else joined
    elif name == "times":
        numbers = [n for n in arguments if isinstance(n, int)]  # a bound of time is not in the data
        e.is_optional |= numbers[0] == 0
        e.at_least, e.at_most = max(numbers[0], 1), numbers[-1]
    elif name in ("oneOrMore", "timesOrMore"):
        e.at_least, e.at_most = arguments[0] if arguments else 1, None
    elif name == "until":
        e.until = arguments[0]
    elif name in ("consecutive", "allowCombinations"):
        e.inner = {"consecutive": "", "allowCombinations": "->>"}[name]
    else:
        e.is_optional |= name == "optional"
        e.is_greedy |= name == "greedy"


@dataclass
class _Writer:
    """`is_every`: with NO SKIP loops are greedy; with a skip mode reluctant, as Flink keeps what completes first."""

    clause: Clause
    is_every: bool

    def sequence(self, elements: list[Element], entry: str | None = None, inner: str = "", is_last: bool = True) -> str:
        """`entry` replaces the operator of the head, which as a loop takes the group's `inner` operator."""
        texts: list[str] = []
        absent, previous, is_open = "", None, False  # the condition of !-> before the element; the one before it
        for i, e in enumerate(elements):
            ends = is_last and i == len(elements) - 1
            if e.absence:
                absent = e.condition if e.absence == "!->" else ""
                not_n = f"{e.absence}{' ' * (e.absence == '!->')}{self.clause.variable('', e.condition)}"
                is_open = is_last and elements[i + 1 :] != [] and all(x.is_optional for x in elements[i + 1 :])
                texts.append("" if is_open else not_n)
                held = not_n if is_open else ""
                continue
            operator, loop = (entry, inner) if i == 0 and entry is not None else (e.operator, e.inner)
            after = elements[i + 1] if i + 1 < len(elements) else None
            text = self.element(e, operator, loop, absent, after, previous, ends)
            if is_open:
                text, is_open = f"({held} {text}){self.suffix(e, '?')}", False
            texts.append(text)
            absent, previous = "", e
        return " ".join(t for t in texts if t)

    def element(self, e: Element, operator: str, loop: str, absent: str, after: Element | None, previous, ends) -> str:
        forbidden = [absent] if absent and not (ends and not e.is_loop) else []
        if previous is not None and previous.is_greedy and previous.at_most not in (1, None):
            forbidden.append(previous.condition)
        first = self.round(e, operator, e.condition, forbidden, is_last=ends, is_first=True)
        if e.is_loop:
            not_n = ""
            if after is not None and after.absence == "!->" and not e.group:
                not_n = f"!-> {self.clause.variable('', after.condition)} "
                forbidden.append(after.condition)
            rest = self.round(e, loop, e.condition, forbidden, is_last=ends, is_first=False)
            most = "" if e.at_most is None else str(e.at_most - 1)
            first = f"{first} ({not_n}{rest}){self.suffix(e, f'{{{e.at_least - 1},{most}}}', ends)}"
        if e.is_optional:
            first = f"({first}){self.suffix(e, '?', ends)}"
        if e.until:
            first = f"({first}) UNTIL {self.clause.variable('', e.until)}"
        if e.is_greedy and e.is_loop and e.at_most is not None and not ends:
            first += f" !-> {self.clause.variable('', e.condition)}"
        return first

    def suffix(self, e: Element, quantifier: str, ends: bool = False) -> str:
        if e.is_greedy:
            return quantifier + ("" if ends else "+")
        return quantifier + ("" if self.is_every else "?")

    def round(
        self, e: Element, operator: str, condition: str, forbidden: list[str], is_last: bool, is_first: bool
    ) -> str:
        if e.group:
            return f"({self.sequence(e.group, operator, e.inner, is_last and not e.is_loop)})"
        wanted = " AND ".join([condition, *(f"NOT ({f})" for f in dict.fromkeys(forbidden))])
        v = self.clause.variable(e.name, wanted)
        if self.clause.gap_ms is not None and is_first:
            self.clause.bounded.add(v)
        return f"{operator} {v}".strip()


# the cases


@dataclass
class Case:
    """`matches`: of each match (name, ids in order) in the order of their first rows."""

    title: str
    calls: list
    events: list[dict]
    matches: list[str]
    timeouts: list
    error: str = ""


def text_of(pairs: list[tuple[str, Any]]) -> str:
    """(name, id) of the mapped rows as flink_random.json has a match.

    >>> text_of([("a", 1), ("b", 2), ("b", 3)])
    'a=1;b=2,3'
    """
    ids: dict[str, list[str]] = {}
    for name, row_id in pairs:
        ids.setdefault(name, []).append(str(row_id))
    return ";".join(f"{name}={','.join(found)}" for name, found in ids.items())


def _cases() -> list[Case]:
    own = json.loads((HERE / "flink_cep.json").read_text())["cases"]
    random = json.loads((HERE / "flink_random.json").read_text())
    found = [Case(c["name"], c["pattern"], c["events"], [",".join(sorted(m)) for m in c["matches"]], []) for c in own]
    for i, c in enumerate(random):
        found.append(Case(f"random {i}", c["pattern"], c["events"], c["matches"], c["timeouts"], c.get("error", "")))
    return found


CASES = _cases()


def is_code(case: Case) -> bool:
    """Return True if the case has conditions that are code."""
    return bool(re.search("CUSTOM|VAR:", json.dumps(case.calls)))


def known_differences() -> dict[str, str]:
    """Title → class, from differences.txt."""
    lines = (HERE / "differences.txt").read_text().splitlines()
    pairs = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {title: reason for title, _, reason in pairs}


TYPES = {"ts": "BIGINT", "id": "INT", "name": "STRING", "price": "DOUBLE", "type": "STRING", "volume": "DOUBLE"}
COLUMNS = "i, " + ", ".join(TYPES)


def spark_query(case: Case, number: int) -> str:
    """The case in our SQL: `number`, then variables, ids, names and prices of each match's rows."""
    clause = translate(case.calls)
    within = "" if clause.within_ms is None else f"WITHIN {clause.within_ms}"
    relation = f"(SELECT * FROM VALUES {rows_text(case)} AS t({COLUMNS}))"
    return f"SELECT {number} AS n, * FROM {relation} {_match_recognize(clause, within)}"


def stream_query(case: Case, number: int, relation: str) -> str:
    """The same over a stream of the case's rows with timestamps, time-outs too (`o`)."""
    clause = translate(case.calls)
    if clause.within_ms is None:
        return f"SELECT {number} AS n, false AS o, * FROM {relation} {_match_recognize(clause, '')}"
    within = f"WITHIN INTERVAL '0.{clause.within_ms:03}' SECOND"
    text = _match_recognize(clause, within, ", MATCH_TIMED_OUT() AS o ONE ROW PER MATCH SHOW TIMEOUT MATCHES")
    return f"SELECT {number} AS n, o, v, ids, names, prices FROM {relation} {text}"


def _match_recognize(clause: Clause, within: str, shown: str = "") -> str:
    gap = f" AND (LAST(ts, 1) IS NULL OR ts < LAST(ts, 1) + {clause.gap_ms})"
    define = [f"{v} AS ({c}){gap if v in clause.bounded else ''}" for v, c in clause.define.items()]
    targets = [v for v, name in clause.names.items() if clause.target and name == clause.target]
    skip = {"skipToFirst": "SKIP TO FIRST f ELSE NEXT ROW", "skipToLast": "SKIP TO LAST f ELSE NEXT ROW"}
    return f"""MATCH_RECOGNIZE (ORDER BY ts, i
        MEASURES array_agg(CLASSIFIER()) AS v, array_agg(id) AS ids, array_agg(name) AS names,
          array_agg(price) AS prices{shown}
        AFTER MATCH {skip.get(clause.skip, clause.skip)} PATTERN ({clause.pattern}) {within}
        {f"SUBSET f = ({', '.join(targets)})" if targets else ""} DEFINE {", ".join(define)})"""


def rows_text(case: Case) -> str:
    """The events as a VALUES list, numbered."""
    rows = []
    for i, event in enumerate(case.events):
        held = {**event, "ts": i if event["ts"] is None else event["ts"]}
        values = ("NULL" if held.get(name) is None else repr(held[name]) for name in TYPES)
        rows.append(f"({i}, {', '.join(f'CAST({v} AS {t})' for v, t in zip(values, TYPES.values()))})")
    return ", ".join(rows)


def found_text(case: Case, row: Any) -> str:
    """A row of `spark_query` as the case has its matches."""
    if case.title.startswith("random"):
        names = translate(case.calls).names
        return text_of([(names[v], row_id) for v, row_id in zip(row.v, row.ids)])
    return ",".join(sorted(f"{i}:{name}:{price}" for i, name, price in zip(row.ids, row.names, row.prices)))
