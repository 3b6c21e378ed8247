"""Whatever parameters of lambdas, variables, columns and the relation are called, each name means the same."""

from __future__ import annotations

import pytest

from tests.sampling import seeded

from .scopes import Draw, bound_texts, plan_of

PARTS, DRAWS = 100, 200  # 1,000 draws a day


@pytest.mark.random(every=20)
@pytest.mark.parametrize("part", range(PARTS))
def test_names_mean_the_same_as_names_that_nothing_shares(part: int) -> None:
    for seed in range(part * DRAWS, (part + 1) * DRAWS):
        draw = Draw(seeded(seed))
        trees = draw.trees()
        texts = [draw.text(trees, names) for names in (draw.names, draw.unique)]
        shared, unique = (bound_texts(plan_of(t, n), n) for t, n in zip(texts, (draw.names, draw.unique)))
        assert shared == unique, "\n".join(texts)
