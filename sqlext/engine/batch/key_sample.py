"""What some rows of a table tell of its keys: whether few of them have a row that satisfies a condition.

The rows are the first ones of the table as it is stored, which is the cheapest sample there is, and not a random one:
a key's rows may stand together or be spread over the table, and what is concluded depends on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PAYS_BELOW = 0.25  # of the keys; the second scan pays below 0.85 if the estimate is right
_SHARED_HITS = 0.8  # so many hits on keys that are hit again: hardly any key that is ever hit was not seen


@dataclass(frozen=True)
class Seen:
    """`rows` rows on `keys` keys, of which `once` have one of the rows and `twice` have two."""

    rows: int
    keys: int
    once: int = 0
    twice: int = 0

    @property
    def all_keys(self) -> float:
        """A lower bound of the keys there are, seen or not (Chao 1984)."""
        return self.keys + self.once * (self.once - 1) / (2 * (self.twice + 1))


@dataclass(frozen=True)
class Sample:
    """The first rows of a table as they are stored. `runs`: how often the key changes, from 1; `hits`: for each label
    the rows that satisfy it."""

    all: Seen
    runs: int
    hits: tuple[tuple[str, Seen], ...]

    @property
    def is_clustered(self) -> bool:
        """Does each key stand in one piece, so that most keys in the sample are seen whole?"""
        return self.all.rows >= 2 * self.all.keys and self.runs <= 2 * self.all.keys


def sample_of(values: np.ndarray, labels: Sequence[str]) -> Sample:
    """`values: int64[n]`, n > 0: bit l says whether the row satisfies label l, the bits above them stand for its key.

    >>> sample_of(np.array([2, 3, 3, 4]), ["C"]).hits
    (('C', Seen(rows=2, keys=1, once=0, twice=1)),)
    """
    keys = values >> len(labels)
    hits = tuple((label, _seen(keys[(values >> bit) & 1 == 1])) for bit, label in enumerate(labels))
    return Sample(_seen(keys), 1 + int(np.count_nonzero(keys[1:] != keys[:-1])), hits)


def _seen(keys: np.ndarray) -> Seen:
    counts = np.unique(keys, return_counts=True)[1]
    return Seen(len(keys), len(counts), int(np.sum(counts == 1)), int(np.sum(counts == 2)))


def surviving(sample: Sample, hits: Seen, table_rows: int) -> float:
    """The expected share of keys with a hit among all keys, rather too large than too small.

    Laplace's rule of succession stands for hits that the sample missed: none seen may still be one in n. It is too
    small where each of many files holds all keys, in order.
    """
    if sample.is_clustered:
        return (hits.keys + 1) / (sample.all.keys + 2)
    if hits.rows and 1 - hits.once / hits.rows >= _SHARED_HITS:
        return min(1.0, hits.all_keys / sample.all.keys)
    hits_in_table = table_rows * (hits.rows + 1) / (sample.all.rows + 2)  # each on a key of its own
    return min(1.0, hits_in_table / min(sample.all.all_keys, table_rows))


def pays(sample: Sample, table_rows: int) -> tuple[tuple[str, ...], str]:
    """The labels that few keys have a row for (none: it does not pay), and why.

    >>> pays(Sample(Seen(30_000, 10_000), 30_000, (("C", Seen(0, 0)),)), table_rows=10_000_000)
    (('C',), '0 of 30,000 sampled rows satisfy C, about 3 % of the keys stay')
    """
    shares = {label: surviving(sample, hits, table_rows) for label, hits in sample.hits}
    rare = tuple(label for label, share in shares.items() if share < PAYS_BELOW)
    rows = {label: hits.rows for label, hits in sample.hits}
    label = min(shares, key=lambda name: (shares[name], rows[name]))
    share = shares[label]
    kept = f"about {share:.0%}".replace("%", " %") if share >= 0.01 else "less than 1 %"
    return rare, f"{rows[label]:,} of {sample.all.rows:,} sampled rows satisfy {label}, {kept} of the keys stay"
