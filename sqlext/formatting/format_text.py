"""Lays out the clauses of the extended language in one canonical way; all other text stays byte for byte the same.

Only gaps between tokens and the case of keywords in these clauses change, so meaning and comments are preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sqlext.errors import SqlExtError
from sqlext.formatting.check_syntax import check_syntax
from sqlext.formatting.gaps import Layout, laid_out, same_tokens
from sqlext.formatting.lay_out_clause import RULES, lay_out_body
from sqlext.formatting.lay_out_query import lay_out_call, lay_out_emit, lay_out_join
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match.parse_match import ORDER_BY, PARTITION_BY, ClauseParser
from sqlext.rewriter.match_windows.parse_window import WindowClause, WindowParser
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import Tokens, closing, index_at, tokenize
from sqlext.rewriter.tree.statement_tree import Site

LayOut = Callable[[str, Tokens], Layout]
_ROUNDS = 8  # The layout is repeated until nothing changes; a clause inside another may take several rounds.


def format_text(text: str) -> str:
    """The text of a file with its clauses laid out. Raises SqlExtError for the first statement with a wrong clause.

    >>> print(format_text("select * from t match_recognize(order by n measures a.n as a,last(n) as last_n "
    ...                   "pattern(a b +) define b as n>prev(n))"))
    select * from t MATCH_RECOGNIZE (
      ORDER BY n
      MEASURES
        a.n     AS a,
        last(n) AS last_n
      PATTERN (a b+)
      DEFINE b AS n>prev(n)
    )
    """
    parts, line, stop = [], "", 0
    for statement in file_statements(text):
        gap = text[stop : statement.start]
        line = _last_line(line + gap)
        parts += [gap, _formatted_after(line, text, statement)]
        line, stop = _last_line(line + parts[-1]), statement.stop
    return "".join(parts) + text[stop:]


def _last_line(text: str) -> str:
    return text[text.rfind("\n") + 1 :]


def _formatted_after(line: str, text: str, statement: Fragment) -> str:
    """The statement, laid out. `line` is the text before it on its line, which has already been laid out."""
    try:
        check_syntax(statement.text)
    except SqlExtError as error:
        raise error.moved(text, statement.start) from None
    before = " " * len(line)
    return format_statement(before + statement.text)[len(before) :]


def format_statement(text: str) -> str:
    """The text of one statement without errors, laid out."""
    if not (isinstance(read_statement(text), RuleStatement) or is_extended(text)):
        return text
    last = text
    for _ in range(_ROUNDS):
        new = last
        for number in range(len(list(_layouts(last)))):
            lay_out = list(_layouts(new))[number]
            tokens = tokenize(new)
            new = laid_out(new, tokens, lay_out(new, tokens))
        if new == last:
            break
        last = new
    return last if same_tokens(tokenize(text), tokenize(last)) else text


def _layouts(text: str) -> Iterator[LayOut]:
    """The function that lays out each part of a statement, in the order in which the parts begin."""
    read = read_statement(text)
    if isinstance(read, RuleStatement):
        if read.definition is not None:
            tokens = tokenize(text)
            yield partial(_lay_out_site, _site(text, tokens, index_at(tokens, read.definition.clause.start)))
        return
    statement = parse_statement(text)
    parts = sorted([*_bodies(statement), *_queries(statement)], key=lambda part: part[0])
    yield from (lay_out for _, lay_out in parts)


def _bodies(statement: ParsedStatement) -> Iterator[tuple[int, LayOut]]:
    for part in statement.of(ClauseSite):
        yield part.site.keyword.start, partial(_lay_out_site, part.site)
    for rules in statement.of(RulesClause):
        yield rules.keyword.start, partial(_lay_out_rules, rules)
    for windows in statement.of(WindowClause):
        for clause in windows.clauses:
            yield clause.keyword.start, partial(_lay_out_window, statement, windows, clause.keyword)


def _queries(statement: ParsedStatement) -> Iterator[tuple[int, LayOut]]:
    for join in statement.of(JoinClause):
        yield join.words.start, partial(lay_out_join, join)
    for call in statement.of(WindowTvf):
        yield call.whole.start, partial(lay_out_call, call)
    for emit in statement.of(EmitClause):
        yield emit.keyword.start, partial(lay_out_emit, emit)


def _site(text: str, tokens: Tokens, keyword: int) -> Site:
    """A clause whose keyword is token `keyword`, without the relation that it reads."""
    word, opening = tokens[keyword], keyword + 1
    close = closing(tokens, opening) or opening
    return Site(
        keyword=Fragment(text, word.start, word.stop),
        relation=Fragment(text, word.start, word.start),
        body=Fragment(text, tokens[opening].stop, tokens[close].start),
        whole=Fragment(text, word.start, tokens[close].stop),
        depth=word.depth,
        opening=opening,
        closing=close,
    )


class _RulesParser(ClauseParser):
    """Finds the sections of MATCH_RULES."""

    what = "MATCH_RULES"
    order = (PARTITION_BY, ORDER_BY, RULES)

    def head(self, i: int) -> tuple[str, int] | None:
        is_rules = self.tokens[i].word == RULES and self.tokens[i].depth == self.depth and self.is_free(i)
        return (RULES, 1) if is_rules else super().head(i)


def _lay_out_site(site: Site, text: str, tokens: Tokens) -> Layout:
    return _lay_out_clause(ClauseParser(text, tokens, site))


def _lay_out_rules(rules: RulesClause, text: str, tokens: Tokens) -> Layout:
    return _lay_out_clause(_RulesParser(text, tokens, _site(text, tokens, index_at(tokens, rules.keyword.start))))


def _lay_out_clause(parser: ClauseParser) -> Layout:
    """The layout of a clause, with its keyword in upper case."""
    keyword = parser.site.opening - 1
    layout = lay_out_body(parser, keyword)
    layout.words[keyword] = parser.tokens[keyword].word
    return layout


def _lay_out_window(
    statement: ParsedStatement, windows: WindowClause, keyword: Fragment, text: str, tokens: Tokens
) -> Layout:
    at = index_at(tokens, keyword.start)
    opening = next(i for i in range(at, len(tokens)) if tokens[i].text == "(")
    site = _site(text, tokens, opening - 1)
    return lay_out_body(WindowParser(statement.tree, site, windows.site), at)
