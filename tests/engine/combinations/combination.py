"""A combination of an input, settings of the session, a clause and a use of its rows, drawn from the data files.

`inputs.txt` and `clauses.txt` are a grammar. A combination expands it to a query and to statements that use the query's
rows, and writes them over any relation: the drawn input, or a copy of its rows.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

from sqlext.rewriter.checkpoint_words.read_settings import read_settings
from tests.sampling import seeded

HERE = Path(__file__).parent
OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."


def blocks(name: str) -> dict[str, list[str]]:
    """The items of each block of a data file."""
    text = "\n" + (HERE / name).read_text("utf-8").replace("\n  ", " ")
    parts = [block.partition("\n") for block in text.split("\n== ")[1:]]
    return {title: items.strip().split("\n") for title, _, items in parts}


INPUTS, CLAUSES, SETTINGS = blocks("inputs.txt"), blocks("clauses.txt"), blocks("settings.txt")
GRAMMAR = {"input": INPUTS["input"], **CLAUSES}


@dataclass(frozen=True)
class Combination:
    """`query` has `{input}` in the place of the relation, and `use` has `{query}` in the place of the query.

    `settings` are for the statements over the input, `settings_of_copy` for those over the copy.
    """

    input: str
    keys: tuple[str, ...]
    query: str
    use: str
    settings: dict[str, str]
    settings_of_copy: dict[str, str]

    def statements(self, relation: str) -> list[str]:
        """The statements over a relation; the last one returns the rows."""
        query = self.query
        for name in ("{input}", "mixed.other"):
            query = query.replace(name, self._with_keys(name))
        query = over(relation, query)
        return [statement.replace("{query}", query) for statement in self.use.split("; ")]

    def _with_keys(self, relation: str) -> str:
        """The relation with the keys that no input has as a column."""
        columns = [column for column in GRAMMAR["computed key"] if column.rpartition(" ")[2] in self.keys]
        return f"(SELECT *, {', '.join(columns)} FROM {relation})" if columns else relation


def over(relation: str, query: str) -> str:
    """
    >>> over("WITH c AS (SELECT 1) c", "SELECT * FROM {input}")
    'WITH c AS (SELECT 1) SELECT * FROM c'
    """
    cte, _, name = relation.rpartition(" ") if relation.startswith("WITH ") else ("", "", relation)
    return f"{cte} {query.replace('{input}', name)}".strip()


def combination(seed: int) -> Combination:
    chance = seeded(seed)
    keys = tuple(filter(None, expanded("{keys of rows}", chance, {}).split(", ")))
    equal = " AND ".join(f"a.{key} {chance.choice(['=', '=', '<=>'])} b.{key}" for key in keys)
    given = {
        **{name: f"{{{name}}}" for name in ("input", "query")},  # stay as they are
        "partition": f"PARTITION BY {', '.join(keys)}" if keys else "",
        "keys": "".join(f"{key}, " for key in keys),
        "equal": f"{equal} AND" if keys else "",
        "on": f"ON {equal}" if keys else "",
        "a key": keys[0] if keys else "1",
    }
    zone = drawn(SETTINGS["also of the copy"], chance)
    return Combination(
        input=chance.choice(GRAMMAR["input"]),
        keys=keys,
        query=expanded("{a query}", chance, given),
        use=expanded("{use}", chance, given),
        settings=settings_of_input(chance) | zone,
        settings_of_copy=drawn(SETTINGS["of the copy"], chance) | zone,
    )


@dataclass(frozen=True)
class StreamOfRows:
    """`query` over a stream with the columns of mixed.rows, and the settings of the session in each run of it."""

    query: str
    settings: tuple[dict[str, str], ...]
    settings_of_copy: dict[str, str]


# A stream may not resume where these are others. The third is the number of buckets of its state, and without a rule of
# the optimizer Spark finds other columns nullable in the state of its own joins.
_OF_A_CHECKPOINT = (
    "spark.sql.ansi.enabled",
    "spark.sql.timestampType",
    "spark.sql.shuffle.partitions",
    "spark.sql.optimizer.excludedRules",
)
_COMPRESSION = "spark.sql.execution.arrow.compression.codec"  # with lz4 mapInArrow of Spark fails over empty texts


def stream(seed: int, runs: int) -> StreamOfRows:
    """The query of a seed over a stream, with the settings of so many runs from one checkpoint."""
    chance = seeded(seed)
    by = chance.choice(["k", "s", "m", "dt", "b"])
    given = {"by": by, "rows": "STREAM mixed.grows WATERMARK ts DELAY OF INTERVAL 0 SECONDS"}
    zone = drawn(SETTINGS["also of the copy"], chance)
    query = expanded("{stream}", chance, given)
    first, *later = ({**settings_of_input(chance), _COMPRESSION: "none"} for _ in range(runs))
    of_checkpoint = {*_OF_A_CHECKPOINT, *read_settings(query)}
    fixed = {name: value for name, value in first.items() if name in of_checkpoint}
    free = ({name: value for name, value in of_run.items() if name not in of_checkpoint} for of_run in later)
    return StreamOfRows(query, tuple({**of_run, **fixed, **zone} for of_run in (first, *free)), zone)


def expanded(text: str, chance: random.Random, given: dict[str, str]) -> str:
    """The text with each name in braces replaced, by what is given for it or by an item of its block.

    >>> expanded("SELECT * FROM {input} a {whether} INTERVAL JOIN b", random.Random(1), {"input": "t"})
    'SELECT * FROM t a LEFT SEMI INTERVAL JOIN b'
    """

    def replacement(name: re.Match[str]) -> str:
        if name[1] in given:
            return given[name[1]]
        item = chance.choice(GRAMMAR[name[1]])
        return "" if item == "-" else expanded(item, chance, given)

    return re.sub(r"\{([a-z][a-z ]*)\}", replacement, text)


def settings_of_input(chance: random.Random) -> dict[str, str]:
    """What is always set, up to 14 other settings, and at times a list of rules that Spark's optimizer leaves out."""
    others = SETTINGS["sometimes set"]
    values = drawn([*SETTINGS["always set"], *chance.sample(others, chance.randint(0, 14))], chance)
    rules = chance.sample(SETTINGS["rule of the optimizer"], chance.choice([0, 0, 0, 1, 4]))
    return values | {"spark.sql.optimizer.excludedRules": ",".join(OPTIMIZER + rule for rule in rules)}


def drawn(items: list[str], chance: random.Random) -> dict[str, str]:
    """One value of each setting.

    >>> drawn(["sqlext.order = spark", "spark.sql.shuffle.partitions = 2 | 2"], random.Random(1))
    {'sqlext.order': 'spark', 'spark.sql.shuffle.partitions': '2'}
    """
    return {name: chance.choice(values.split(" | ")) for name, values in (item.split(" = ") for item in items)}
