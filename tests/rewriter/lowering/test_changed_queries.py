"""Which changes of a query and of its source a checkpoint survives (`changes.txt`), without starting a stream."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.catalog.checkpoint import StoredClause, StoredQuery, check_same_query, record_query
from sqlext.engine.emit.run_emit import emit_fingerprint
from sqlext.engine.planning.fingerprint import Fingerprint, match_fingerprint, recorded_words
from sqlext.engine.rules.run_rules import rules_fingerprint
from sqlext.errors import BindError, Place
from sqlext.expressions.function import ExecutionSettings
from sqlext.operators.rules.plan import RulesPlan
from sqlext.rewriter.checkpoint_words.resumed_words import resumed_words
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.lower_emit import lower_emit
from sqlext.rewriter.heads.stream_target import parse_target
from sqlext.rewriter.joins.interval_sql import same_key
from sqlext.rewriter.joins.time_buckets import MICROS, position
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.rules.plan_rule import plan_rule
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.text.splice import Source, join

COLUMNS = {"k": "int", "ts": "timestamp", "v": "int", "other": "int"}
SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")
INPUT = "(SELECT * FROM STREAM s WHERE v > 0) WATERMARK ts DELAY OF INTERVAL 5 SECONDS AS x"
MATCH = f"""CREATE STREAMING TABLE o AS SELECT k, l FROM {INPUT} MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES LAST(v) AS l PATTERN (A B+) WITHIN INTERVAL 1 HOUR
  DEFINE A AS v < 5, B AS v > PREV(v))"""
QUERIES = {
    "match": MATCH,
    "every": MATCH.replace("SELECT k, l", "SELECT *").replace("PATTERN", "ALL ROWS PER MATCH PATTERN"),
    "emit": f"""CREATE STREAMING TABLE o AS SELECT k, window_start, sum(v) AS s
      FROM TUMBLE(TABLE {INPUT}, DESCRIPTOR(ts), INTERVAL 10 MINUTES) GROUP BY k, window_start, window_end
      EMIT EARLY EVERY INTERVAL 1 MINUTE""",
    "rules": f"CREATE STREAMING TABLE o AS SELECT * FROM {INPUT} MATCH_RULES (PARTITION BY k ORDER BY ts RULES r)",
    "join": f"""CREATE STREAMING TABLE o AS SELECT x.v, r.v FROM {INPUT} INTERVAL JOIN {INPUT[:-1]}r
      ON x.k = r.k AND r.ts BETWEEN x.ts - INTERVAL 1 HOUR AND x.ts AND r.v < 5""",
    "upsert": f"CREATE STREAMING TABLE o UPSERT KEY (k) AS SELECT k, ts, v FROM {INPUT}",
}


def blocks() -> list[tuple[str, list[str], dict[str, str]]]:
    """(title, changes, result of each kind of query)"""
    lines = (Path(__file__).parent / "changes.txt").read_text().split("\n== ")[1:]
    parsed = []
    for block in lines:
        title, *rest = [line for line in block.split("\n") if line]
        results = {name: rest for name, _, rest in (line.partition(" ") for line in rest) if name in QUERIES}
        parsed.append((title, [line for line in rest if line.split()[0] not in QUERIES], results))
    return parsed


BLOCKS = blocks()


def changed(text: str, columns: dict[str, str], changes: list[str]) -> tuple[str, dict[str, str]]:
    columns = dict(columns)
    for verb, _, rest in (change.partition(" ") for change in changes):
        if verb == "text":
            old, new = rest.split(" => ")
            text = new.join(text.split(old) if len(old) > 1 else re.split(rf"\b{old}\b", text))
        elif verb == "drop":
            del columns[rest]
        else:
            name, other = rest.split()
            kind = columns.pop(name) if verb == "rename" else other
            columns[other if verb == "rename" else name] = kind
    return text, columns


def clauses_of(text: str, columns: dict[str, str]) -> list[Fingerprint]:
    """The fingerprints of the clauses of a statement over a source with these columns."""
    types = tuple(columns.items())
    resolver = StaticBinder(columns=columns, settings=SETTINGS, functions={}, text=text)
    statement, source = parse_statement(text), Source(text)
    relation = InputRelation(columns=types, resolver=resolver, is_aggregate=lambda name: False, is_streaming=True)
    found = [match_fingerprint(lower(site.clause, source, relation)) for site in statement.of(ClauseSite)]
    found += [emit_fingerprint(lower_emit(emit, source, types, resolver, "ts")) for emit in statement.of(EmitClause)]
    for clause in statement.of(RulesClause):
        schema = pa.schema([])
        plan = RulesPlan(
            schema=schema, columns=types, keys=("k",), order=("ts",), sort=(), settings=SETTINGS, compile=plan_rule
        )
        found.append(rules_fingerprint(plan, source.of(clause.relation)))
    return found


def stored(text: str, columns: dict[str, str]) -> tuple[StoredQuery, list[Fingerprint]]:
    target, statement = parse_target(text), parse_statement(text)
    parts = [site.clause for site in statement.of(ClauseSite)] + [*statement.of(EmitClause), *statement.of(RulesClause)]
    query = target.query
    outside = query.text
    for whole in (part.whole for part in parts):
        outside = text[query.start : whole.start] + "__clause" + text[whole.stop : query.stop]
    fingerprints = clauses_of(text, columns)
    clauses = tuple(StoredClause("clause", f.digest, dict(f.parts)) for f in fingerprints)
    key = tuple(column.name for column in target.upsert_key)
    words = tuple(resumed_words(outside))
    return StoredQuery(clauses=clauses, words=words, upsert_key=key, statement=text), fingerprints


class Record:
    """A checkpoint in memory."""

    def __init__(self, query: StoredQuery):
        self.record = None
        resume(self, query, [()] * len(query.clauses))

    def write(self, record: str) -> None:
        self.record = record


def resume(record: Record, query: StoredQuery, former) -> None:
    place = Place("x", 0, 1)
    check_same_query(record, query, former, [place] * len(query.clauses), [place] * len(query.words), place, "")
    record_query(record, query)


@pytest.mark.parametrize("title, changes, results", BLOCKS, ids=[title for title, _, _ in BLOCKS])
def test_a_query_resumes_or_says_what_has_changed(title, changes, results):
    assert results.keys() == QUERIES.keys()
    for kind, result in results.items():
        if result == "-":
            continue
        before, _ = stored(QUERIES[kind], COLUMNS)
        now, fingerprints = stored(*changed(QUERIES[kind], COLUMNS, changes))
        record = Record(before)
        if result == "resume":
            resume(record, now, [f.former for f in fingerprints])
            resume(record, now, [()] * len(fingerprints))  # it is recorded as it is now
        else:
            with pytest.raises(BindError) as error:
                resume(record, now, [f.former for f in fingerprints])
            message = result.removeprefix("refuse ")
            assert error.value.error_class == "SQLEXT_CHANGED_QUERY" and message in error.value.message, kind


OF_EARLIER_VERSIONS = {
    "match": "4e2dc2ff8f2beb31", "every": "cb4ec160f47e4cdd", "emit": "0156a747571ff3a9", "rules": "b55d0684c2fd8795",
}  # fmt: skip


@pytest.mark.parametrize("kind", OF_EARLIER_VERSIONS)
def test_a_checkpoint_of_an_earlier_version_resumes_and_gets_the_present_fingerprint(kind):
    query, (fingerprint,) = stored(QUERIES[kind], COLUMNS)
    assert OF_EARLIER_VERSIONS[kind] in fingerprint.former
    old = replace(query, clauses=(StoredClause("clause", OF_EARLIER_VERSIONS[kind]),))
    added = {**COLUMNS, "note": "string"}
    cured, (of_cured,) = stored(QUERIES[kind].replace("STREAM s", "STREAM s WITH (skipChangeCommits = true)"), COLUMNS)
    resume(Record(old), cured, [of_cured.former])
    if kind != "every":
        wider, (of_wider,) = stored(QUERIES[kind], added)
        resume(Record(old), wider, [of_wider.former])
    record = Record(old)
    resume(record, query, [fingerprint.former])
    assert fingerprint.digest in record.record and OF_EARLIER_VERSIONS[kind] not in record.record


def test_the_name_of_timestamp_in_our_sql_is_recorded_as_earlier_versions_wrote_it():
    key = same_key(join("l.at"), position(MICROS, "r.at"))
    left, right = "l.at", "unix_micros(CAST(r.at AS TIMESTAMP))"
    earlier = f"unix_micros(CAST(({left}) AS TIMESTAMP)) % 1 = unix_micros(CAST(({right}) AS TIMESTAMP)) % 1"
    assert recorded_words(key) == resumed_words(earlier)


# The digests that the commit before 07030c1b gives, which knew no lengths of CHAR columns.
BEFORE_CHARS = {  # a condition in DEFINE → the digests of ONE ROW PER MATCH and WITH UNMATCHED ROWS
    "B.v > A.v": ("12a22a5731b1a4db", "9519d91125f2edcd"),
    "c = 'ab'": ("e139c5b424138ccc", "e5607659751ed357"),
    "A.c = B.c": ("c21e724f755bbcf5", "b18a9cd8add01cac"),
    "A.c = B.w": ("d05c46a1ec6d292f", "3081f6ed795a0b98"),
}
ARE_PADDED_NOW = {"A.c = B.w"}  # it held on no row, so what is kept is not what it would have found


@pytest.mark.parametrize("shows_unmatched", [False, True], ids=["one row", "unmatched rows"])
@pytest.mark.parametrize("condition", BEFORE_CHARS)
def test_a_checkpoint_from_before_char_columns_were_padded_resumes_unless_its_conditions_are(
    condition, shows_unmatched
):
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS" if shows_unmatched else ""
    text = f"""SELECT * FROM STREAM s WATERMARK ts DELAY OF INTERVAL 5 SECONDS AS x MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES A.c AS g, A.v + 1 AS h, CLASSIFIER() AS l, count(*) AS n {rows}
      PATTERN (A B) DEFINE B AS {condition})"""
    columns = {"k": "int", "ts": "timestamp", "c": "string", "w": "string", "v": "int"}
    relation = InputRelation(
        columns=tuple(columns.items()),
        resolver=StaticBinder(columns=columns, settings=SETTINGS, text=text),
        is_aggregate=lambda name: False,
        is_streaming=True,
        chars={"c": 5, "w": 3},
    )
    (site,) = parse_statement(text).of(ClauseSite)
    digest = match_fingerprint(lower(site.clause, Source(text), relation)).digest
    assert (digest == BEFORE_CHARS[condition][shows_unmatched]) == (condition not in ARE_PADDED_NOW)
