"""Reader of the files of this folder: statements of users of another system, each with its result.

A file begins with comments. `-- == relations` heads the statements that make its views. Every further `-- == title`
heads one statement and its outcome:

- `-- rows a int, b string` (the result's columns) and below it one row a line, `-- 1, x`, sorted, or
- `-- error` and below it the message, then `-- write` and the statement that its author should write, with its rows, or
- `-- rows`, `-- write` and a second statement with its rows, where the first one runs here and returns other rows than
  there. Its title begins with "differs: ".

The rows of the last statement of a block are those of the other system, as far as we could run it. The comment at the
head of a file names the system's version and what it did not run. `python -m tests.migration.statements` counts them.

A statement ends at a semicolon at the end of a line. Before the last statement of a block there may be others, which
only prepare it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
DIFFERS = "differs: "  # begins the title of a statement that returns other rows in its own system
# the name of each file, and the systems whose statements it has
SYSTEMS = {
    "oracle": "Oracle", "snowflake": "Snowflake", "trino": "Trino", "flink": "Flink SQL", "duckdb": "DuckDB",
    "databricks": "Databricks", "clickhouse": "ClickHouse, Doris, StarRocks", "questdb": "QuestDB, kdb",
    "esper": "Esper, Siddhi", "beam": "Beam, ksqlDB, Kafka Streams", "pandas": "pandas, Polars",
    "azure": "Azure Stream Analytics", "bigquery": "BigQuery", "vertica": "Vertica",
}  # fmt: skip


@dataclass
class Outcome:
    """`kind` is "rows", "error" or "" (none is written yet); `lines` are without their comment signs."""

    kind: str = ""
    columns: str = ""
    lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.kind} {self.columns}".strip()
        return "\n".join(f"-- {line}".rstrip() for line in (head, *self.lines))


@dataclass
class Version:
    """A statement, the statements that prepare it, and its outcome."""

    text: str
    before: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    def __str__(self) -> str:
        return "\n".join([*(f"{text};" for text in self.before), f"{self.text};", str(self.outcome)])


@dataclass
class Migrated:
    """A statement of another system, and how to write it here if it is not taken as it is."""

    title: str
    version: Version
    rewritten: Version | None = None

    @property
    def is_unchanged(self) -> bool:
        return self.version.outcome.kind == "rows" and not self.differs

    @property
    def differs(self) -> bool:
        """Whether the statement runs as it stands, and returns other rows than in its own system."""
        return self.title.startswith(DIFFERS)

    @property
    def says_what_to_write(self) -> bool:
        """Whether the statement is refused with a hint, or differs, and runs as its author should write it."""
        has_hint = self.differs or any(line.startswith("Hint: ") for line in self.version.outcome.lines)
        return has_hint and self.rewritten is not None and self.rewritten.outcome.kind == "rows"

    @property
    def versions(self) -> list[Version]:
        return [self.version, *([self.rewritten] if self.rewritten else [])]

    def __str__(self) -> str:
        return f"-- == {self.title}\n" + "\n-- write\n".join(map(str, self.versions))


@dataclass
class System:
    """A file: its comment, the statements that make its relations, and the statements to run."""

    name: str
    comment: str
    relations: list[str]
    statements: list[Migrated]

    def __str__(self) -> str:
        head = "\n".join(["-- == relations", *(f"{text};" for text in self.relations)])
        return "\n\n".join([self.comment, head, *map(str, self.statements)]) + "\n"


def read(name: str) -> System:
    comment, relations, *blocks = (HERE / f"{name}.sql").read_text("utf-8").split("\n-- == ")
    texts, _ = _split(relations.split("\n")[1:])
    return System(name, comment.strip(), texts, [_migrated(block) for block in blocks])


def _migrated(block: str) -> Migrated:
    title, *lines = block.strip().split("\n")
    parts = "\n".join(lines).split("\n-- write\n")
    versions = [_version(part.split("\n")) for part in parts]
    return Migrated(title, *versions)


def _version(lines: list[str]) -> Version:
    texts, rest = _split(lines)
    comments = [line[3:] for line in rest]
    kind, _, columns = comments[0].partition(" ") if comments else ("", "", "")
    return Version(texts[-1], texts[:-1], Outcome(kind, columns, comments[1:]))


def _split(lines: list[str]) -> tuple[list[str], list[str]]:
    """(the statements, the comment lines after the last one)"""
    texts: list[str] = []
    text: list[str] = []
    for i, line in enumerate(lines):
        if texts and not text and line.startswith("--"):
            return texts, lines[i:]
        if line.endswith(";"):
            texts.append("\n".join([*text, line[:-1]]))
            text = []
        elif line:
            text.append(line)
    assert not text, "\n".join(["a statement without its semicolon:", *text])
    return texts, []


def all_versions(system: System) -> Iterator[tuple[Migrated, Version]]:
    for statement in system.statements:
        for version in statement.versions:
            yield statement, version


def counts() -> str:
    """A table: of each system, how many statements give its rows, or are refused or differ with what to write."""
    lines = [f"{'system':28}{'statements':>12}{'equal':>8}{'refused or differs':>20}{'right':>8}"]
    for name, title in SYSTEMS.items():
        statements = read(name).statements
        equal, refused = sum(s.is_unchanged for s in statements), sum(s.says_what_to_write for s in statements)
        share = (equal + refused) / len(statements)
        lines.append(f"{title:28}{len(statements):12}{equal:8}{refused:20}{share:8.0%}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(counts())
