"""The keywords of the extended language: Spark's, as the tokenizer knows them, and ours, as `grammar.ebnf` has them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from sqlext.rewriter.scalars.analyse import CLAUSE_FUNCTIONS, NAVIGATIONS, OUTCOMES

GRAMMAR = Path(__file__).with_name("grammar.ebnf")
FUNCTIONS = frozenset({*NAVIGATIONS, *CLAUSE_FUNCTIONS, *OUTCOMES})
_COMMENT = re.compile(r"^#.*$", re.MULTILINE)
_PHRASE = re.compile(r'"([A-Z_]+(?: [A-Z_]+)*)"')


@cache
def phrases() -> tuple[str, ...]:
    """The keywords of the grammar; several words that always follow one another are one phrase.

    >>> [phrase for phrase in phrases() if phrase.startswith("WITH")]
    ['WITH', 'WITH UNMATCHED ROWS', 'WITHIN']
    """
    return tuple(sorted(set(_PHRASE.findall(_COMMENT.sub("", GRAMMAR.read_text("utf-8"))))))
