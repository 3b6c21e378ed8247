"""Helpers of the pattern tests: tasks from text, rows from words, and every strategy with tables of minimal size."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from sqlext.pattern.batch import bounded, lazy_dfa, reference, two_pass
from sqlext.pattern.measures.tails import unshared
from sqlext.pattern.program.position_automaton import count_positions
from sqlext.pattern.task.task import MatchTask, Output, Rows, Skip, Spans
from tests.task_harness import contiguous_task, tree_of

FOLDER = Path(__file__).parent


def lines(name: str) -> list[list[str]]:
    """The cases of a data file, as lists of fields: semicolons separate fields, `#` begins a comment line."""
    text = (FOLDER / name).read_text().splitlines()
    return [[field.strip() for field in line.split(";")] for line in text if line.strip() and line[0] != "#"]


def task_of(
    pattern: str,
    letters: str | None = None,
    *,
    skip: Skip | None = None,
    shows_unmatched: bool = False,
    is_within: bool = False,
) -> MatchTask:
    """A task in which label l is the l-th of `letters` and needs mask bit l.

    By default `letters` are the variables of the pattern in order of first use.
    """
    tree, names = tree_of(pattern)
    output = Output(is_all_rows=True, shows_unmatched=shows_unmatched)
    return contiguous_task(tree, tuple(letters or names), skip=skip or Skip(), output=output, is_within=is_within)


def rows_of(task: MatchTask, words: Iterable[str]) -> Rows:
    """Rows with one partition for each word; a row satisfies the variable that its letter names."""
    words = list(words)
    truth = [[letter == label for label in task.program.labels] for word in words for letter in word]
    bounds = np.cumsum([0, *(len(word) for word in words)])
    return Rows(bounds=bounds, mask=packed(np.array(truth, bool).reshape(bounds[-1], -1)))


def packed(truth: np.ndarray) -> np.ndarray:
    """`truth: bool[n, v]`, row i satisfies variable j, as Rows.mask."""
    mask = np.packbits(truth, axis=1, bitorder="little")
    return mask if mask.shape[1] else np.zeros((len(truth), 1), np.uint8)


def joined(blocks: Iterable[Spans]) -> dict[str, object]:
    """All blocks as one, with no labels shared, for comparison; only the last block may have a failure."""
    spans = [unshared(block, np.arange(len(block.start))) for block in blocks]
    assert all(block.failure is None for block in spans[:-1])
    hides = {block.is_hidden is not None for block in spans}
    assert len(hides) <= 1

    def column(name: str) -> list:
        return [value for block in spans for value in getattr(block, name).tolist()]

    return {
        "start": column("start"),
        "number": column("number"),
        "length": column("length"),
        "label": column("label"),
        "is_hidden": column("is_hidden") if hides == {True} else None,
        "unmatched": column("unmatched"),
        "failure": spans[-1].failure if spans else None,
    }


def matches(result: dict, task: MatchTask) -> list[tuple[int, int, str]]:
    """(number, start, letters) of each match; letters of hidden rows are in lower case."""
    letters = [task.program.labels[label] for label in result["label"]]
    if result["is_hidden"] is not None:
        letters = [x.lower() if is_hidden else x for x, is_hidden in zip(letters, result["is_hidden"])]
    ends = np.cumsum(result["length"], dtype=int).tolist()
    texts = ["".join(letters[end - length : end]) for end, length in zip(ends, result["length"])]
    return list(zip(result["number"], result["start"], texts))


def sharing_ways(task: MatchTask, rows: Rows, chance: random.Random) -> Iterator[tuple[str, Iterator[Spans]]]:
    """The blocks of each compiled strategy that takes the task: one that shares labels, and small ones that may."""
    sizes = {"block_rows": chance.choice([1, 2, 3, 5, 20]), "overlap": chance.choice([0, 0, 0, 1, 2])}
    for sharing in ({"block_rows": 1000, "overlap": 0}, sizes):
        if rows.limit is None:
            if count_positions(task.program) <= 64:
                yield f"two_pass, {sharing}", two_pass.find(task, rows, **sharing)
            yield f"lazy_dfa, {sharing}", lazy_dfa.find(task, rows, **sharing)
        yield f"bounded, {sharing}", bounded.find(task, rows, **sharing)


def fast_ways(task: MatchTask, rows: Rows, chance: random.Random) -> Iterator[tuple[str, Iterator[Spans]]]:
    """The blocks of each compiled strategy that takes the task, with usual and with tiny blocks and tables."""
    if rows.limit is None:
        if count_positions(task.program) <= 64:
            yield "two_pass", two_pass.find(task, rows)
            yield "two_pass, tiny", two_pass.find(task, rows, block_rows=chance.randint(1, 5))
        yield "lazy_dfa", lazy_dfa.find(task, rows)
        sizes = {"block_rows": chance.randint(1, 5), "shift": chance.randint(0, 3), "memo_bits": chance.randint(0, 3)}
        yield f"lazy_dfa, {sizes}", lazy_dfa.find(task, rows, **sizes)
    yield "bounded", bounded.find(task, rows)
    sizes = {"block_rows": chance.randint(1, 5), "shift": chance.randint(0, 3)}
    yield f"bounded, {sizes}", bounded.find(task, rows, **sizes)


def assert_all_agree(task: MatchTask, rows: Rows, seed: int = 0) -> dict[str, object]:
    """Assert that every strategy finds what `reference` finds, and return this result."""
    expected = joined(reference.find(task, rows))
    for name, blocks in fast_ways(task, rows, random.Random(seed)):
        assert joined(blocks) == expected, f"{name} on {task}, {rows}"
    whole = replace(task, output=replace(task.output, is_all_rows=False))
    for name, blocks in sharing_ways(whole, rows, random.Random(seed)):
        assert joined(blocks) == expected, f"{name} on {whole}, {rows}"
    return expected
