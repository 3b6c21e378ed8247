"""Lays out joins on time, window functions and EMIT.

FROM flights f
  LEFT ASOF JOIN reports r
    MATCH_CONDITION (f.departed >= r.at)
    ON f.origin = r.origin

FROM TUMBLE(TABLE sales, DESCRIPTOR(ts), INTERVAL '1' HOUR)
GROUP BY window_start
EMIT AFTER WATERMARK
"""

from __future__ import annotations

from sqlext.formatting.gaps import Layout, column_of, indent_of, is_on_one_line
from sqlext.formatting.lay_out_clause import ONE_LINE, STEP, WIDTH, length_of
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.text.tokens import WORD, Tokens, closing, index_at


def lay_out_join(join: JoinClause, text: str, tokens: Tokens) -> Layout:
    """Put the join on a line of its own below FROM, and its conditions below it; a short FROM stays on one line."""
    first, after = index_at(tokens, join.words.start), index_at(tokens, join.words.stop)
    stop = index_at(tokens, join.whole.stop)
    from_ = join.query.from_
    layout = Layout()
    for i in range(first, after):
        layout.words[i] = tokens[i].word
        layout.gaps[i] = " "
    layout.gaps[after] = " "
    criteria = [i for i in range(after, stop) if _begins_criterion(join, tokens, i)]
    for i, end in zip(criteria, [*criteria[1:], stop]):
        layout.words[i] = tokens[i].word
        layout.gaps[i] = layout.gaps[i + 1] = " "
        layout.blocks[i if tokens[i].word == "AGGREGATE" else i + 1] = end  # its list ends below its word
    if join.match_condition is not None and join.match_condition.within is not None:
        within = index_at(tokens, join.match_condition.within.start)
        layout.words[within - 1] = tokens[within - 1].word
        layout.gaps[within - 1] = layout.gaps[within] = " "
    if join.aggregate is not None and join.aggregate.is_prevailing:
        for i in (stop - 2, stop - 1):
            layout.words[i], layout.gaps[i] = tokens[i].word, " "
    if _is_short(text, tokens, from_, stop, layout, ONE_LINE):
        return layout
    indent = indent_of(text, tokens[from_].start) + STEP
    layout.break_before(first, indent)
    for i in criteria:
        layout.break_before(i, indent + STEP)
    return layout


def _begins_criterion(join: JoinClause, tokens: Tokens, i: int) -> bool:
    """Whether MATCH_CONDITION ( … ), ON, USING ( … ) or AGGREGATE ( … ) of this join begins at token i."""
    start = tokens[i].start
    if join.aggregate is not None and start == join.aggregate.whole.start:
        return True
    condition, on = join.match_condition, join.on
    if tokens[i].word == "MATCH_CONDITION" and condition is not None and condition.whole.start == start:
        return True
    if tokens[i].word == "ON" and on is not None:
        return tokens[i + 1].start == on.start
    is_using = tokens[i].word == "USING" and bool(join.using)
    return is_using and tokens[i].stop <= join.using[0].fragment.start <= tokens[i + 2].stop


def lay_out_call(call: WindowTvf, text: str, tokens: Tokens) -> Layout:
    """Put `NAME(argument, …)` on one line, or each argument on its own line if that line gets too long."""
    name = next(i for i in range(index_at(tokens, call.whole.start), len(tokens)) if tokens[i].word == call.kind)
    close = closing(tokens, name + 1) or name + 1
    arguments = [name + 2]
    depth = tokens[name].depth + 1
    ends = [call.data.start, *(key.start for key in call.partition_by)]
    layout = Layout(words={name: call.kind}, gaps={name + 1: "", name + 2: "", close: ""})
    for i in range(name + 2, close):
        if tokens[i].text == "," and tokens[i].depth == depth:
            layout.gaps[i] = ""
            layout.gaps[i + 1] = " "
            if tokens[i + 1].start not in ends:
                arguments.append(i + 1)
    if _is_short(text, tokens, name, close + 1, layout, WIDTH):
        return layout
    indent = indent_of(text, tokens[name].start)
    for i, end in zip(arguments, [*arguments[1:], close]):
        layout.break_before(i, indent + STEP)
        layout.blocks[i] = end
    layout.break_before(close, indent)
    return layout


def lay_out_emit(emit: EmitClause, text: str, tokens: Tokens) -> Layout:
    """Put EMIT on a line of its own, unless the whole query is short and on one line."""
    first, keyword = index_at(tokens, emit.whole.start), index_at(tokens, emit.keyword.start)
    stop = index_at(tokens, emit.stop)
    layout = Layout(words={keyword: "EMIT"}, gaps={keyword: " "})
    depth = tokens[keyword].depth
    for i in range(keyword + 1, stop):
        if tokens[i].depth != depth or tokens[i].text == ")":
            continue
        layout.gaps[i] = "" if tokens[i].text == "," else " "
        if tokens[i].kind == WORD:
            layout.words[i] = tokens[i].word
    if _is_short(text, tokens, first, stop, layout, ONE_LINE):
        return layout
    groups = (i for i in range(keyword - 1, first, -1) if tokens[i].depth == depth and tokens[i].word == "GROUP")
    group = next(groups, first)
    layout.break_before(keyword, indent_of(text, tokens[group].start))
    return layout


def _is_short(text: str, tokens: Tokens, lo: int, hi: int, layout: Layout, width: int) -> bool:
    """Whether tokens `lo` to `hi` fit on one line of this width."""
    if not is_on_one_line(text, tokens, lo, hi, layout.gaps):
        return False
    length = len(tokens[lo].text) + length_of(text, tokens, lo + 1, hi, layout)
    return column_of(text, tokens[lo].start) + length <= width
