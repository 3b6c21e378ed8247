"""Asks Spark for the types of most parts of a clause in one query: a query takes some 20 ms, however many it asks for.

A resolver remembers types, so the steps of the lowering ask again without knowing of this one.
"""

from __future__ import annotations

from contextlib import suppress

from sqlext.errors import SqlExtError
from sqlext.rewriter.match.lower.input_query import Context, partition_by
from sqlext.rewriter.match.lower.lower_bounds import texts_of_within
from sqlext.rewriter.match.lower.lower_define import Conditions, Defined
from sqlext.rewriter.match.lower.lower_measures import Measures


def ask_ahead(context: Context, conditions: Conditions, defined: Defined, measures: Measures) -> None:
    """Let the resolver learn the types of keys, of WITHIN, of DEFINE and of the arguments of aggregates.

    If Spark refuses one of them, nothing is learned: the lowering asks for each part and reports the error.
    """
    if context.relation.is_static:
        return
    texts = [*partition_by(context), *texts_of_within(context), *conditions.texts_to_type(defined)]
    with suppress(SqlExtError):
        context.relation.resolver.types([*texts, *measures.texts_to_type()])
