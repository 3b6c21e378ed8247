"""A workload: a table made of row numbers, a pattern, and what is known of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Result = tuple[int | None, ...]
Expected = Callable[[int], "Result | None"]  # from the number of rows to the totals, or None if they are unknown


def known(results: Mapping[int, Result]) -> Expected:
    """The totals that are known for some sizes only.

    >>> known({10: (2, 7)})(10), known({10: (2, 7)})(20)
    ((2, 7), None)
    """
    return results.get


def unknown(rows: int) -> Result | None:
    return None


@dataclass(frozen=True)
class Workload:
    """One query on one table. In `columns` and `match`, `{rows}` represents the number of rows.

    columns: name → Spark's expression of i, the row number.
    reads: the columns that the query references; the floor reads them too.
    match: the text of MATCH_RECOGNIZE after PARTITION BY and ORDER BY.
    totals: the select list over the matches, one row of integers.
    lead: the same matches by window functions, as a relation over `{table}` for Spark and DuckDB, or None if there is
    no exact form.
    window: the measures that the same pattern in a window is asked for, so that both forms are compared; or none.
    flink_lacks: the reason why Flink cannot express it; empty if it can, with the same text and ORDER BY ts.
    usable: the condition by which a user leaves out rows that no match can use, so that both are compared; or empty.
    settings: settings of the session that are compared with the default, by the name of the variant.
    limits: the largest number of rows for a peer, by its name.
    peer_match: the counterpart of `match` for peers without our operators; empty if they have them.
    is_peerless: no other system can express it.

    >>> from benchmarks.workloads import BY_NAME
    >>> print(BY_NAME["scan"].query("t", 10))
    SELECT count(*), sum(began) FROM t MATCH_RECOGNIZE (
        ORDER BY i
        MEASURES A.i AS began AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B) DEFINE A AS A.v = 0, B AS B.v = 1) AS m
    """

    name: str
    rows: int
    columns: Mapping[str, str]
    reads: tuple[str, ...]
    match: str
    totals: str
    goal: float  # the most time that ours may take, as a multiple of the floor
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ("i",)
    expected: Expected = unknown
    table: str = ""  # the name of a table that workloads share; empty if it has its own
    tiny_rows: int = 3_000  # for tests, where `reference` runs too
    grows: bool = True  # does it also run at 1 M and 10 M rows?
    lead: str | None = None
    window: tuple[str, ...] = ()
    flink_lacks: str = ""
    usable: str = ""
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    peer_match: str = ""
    is_peerless: bool = False

    @property
    def variants(self) -> Mapping[str, Mapping[str, str]]:
        """All settings that are compared with the default, by the name of the variant."""
        return {"Spark reads": {"sqlext.read": "spark"}, **self.settings}

    def query(self, table: str, rows: int) -> str:
        """The statement over `table`."""
        return self._query(table, rows, self.order, self.match)

    def peer_query(self, table: str, rows: int, order: tuple[str, ...] | None = None) -> str:
        """The same statement for a peer, over a table with that name."""
        return self._query(table, rows, order or self.order, self.peer_match or self.match)

    def _query(self, table: str, rows: int, order: tuple[str, ...], match: str) -> str:
        keys = f"PARTITION BY {', '.join(self.keys)} " if self.keys else ""
        clause = f"{keys}ORDER BY {', '.join(order)}\n    {match}".replace("{rows}", str(rows))
        return f"SELECT {self.totals} FROM {table} MATCH_RECOGNIZE (\n    {clause}) AS m"

    def query_by_hand(self, table: str, rows: int) -> str:
        """The statement over the rows that the user has chosen."""
        return self.query(f"(SELECT * FROM {table} WHERE {self.usable})", rows)

    def lead_query(self, table: str) -> str | None:
        return self.lead and f"SELECT {self.totals} FROM ({self.lead.replace('{table}', table)}) AS m"

    def window_query(self, table: str, rows: int) -> str | None:
        """The same matches by a pattern in a window, whose rows without a match are left out."""
        if not self.window:
            return None
        at = min(i for i in map(self.match.find, ("AFTER MATCH", "PATTERN")) if i >= 0)
        frame = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
        keys = f"PARTITION BY {', '.join(self.keys)} " if self.keys else ""
        clause = f"{keys}ORDER BY {', '.join(self.order)}\n    {self.match[:at]}{frame} {self.match[at:]}"
        values = ", ".join(f"{name} OVER w AS {name}" for name in self.window)
        matches = f"SELECT {values} FROM {table} WINDOW w AS (\n    {clause.replace('{rows}', str(rows))})"
        return f"SELECT {self.totals} FROM ({matches}) AS m WHERE {self.window[0]} IS NOT NULL"

    def table_name(self, rows: int) -> str:
        """The name of the table's folder, and of the table in Trino and Flink."""
        return f"{self.table or self.name}_{rows}"
