"""Parses the text inside PATTERN ( … ) into the tree of the pattern.

    pattern := branch { '|' branch }          branch  := { element } { not }
    element := { not } [ '->' | '->>' ] primary [ quantifier [ '?' | '+' ] ] [ UNTIL variable ]
    not     := '!' variable | '!->' variable

The parser keeps open brackets on a stack of its own, so a pattern nested a thousand levels deep raises our error and
not a RecursionError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import MAX_NESTING, depth_error
from sqlext.rewriter.text.fragments import Fragment, Name

MAX_VARIABLES = 256

_LEXEME = re.compile(
    r"""(?P<space> \s+ | --[^\n]* )
    | (?P<comment> /\* )
    | (?P<name> [^\W\d]\w* )
    | (?P<quoted> (?:`[^`]*`)+ | (?:"[^"]*")+ )
    | (?P<quantifier> [*+?] | \{ (?! - \s* (?!\d) ) [^{}()|]* \} )
    | (?P<symbol> \{--? | -\} | !-> | ->> | -> | \|\| | [!|(),^$] )""",
    re.VERBOSE,
)
_BEFORE_BOUND = re.compile(r"\bWITHIN\s+(?:INCLUSIVE\s+)?(?:INTERVAL\s*)?$", re.IGNORECASE)
_CONNECTIVES = {
    "AND": "elements that follow one another are separated by spaces: A B.",
    "OR": "alternatives are separated by |: A | B.",
    "NOT": "!B tests that the next row is no B: A !B.",
    "MATCH_RECOGNIZE_PERMUTE": "elements in any order are written PERMUTE(A, B).",  # Esper
}
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_BOUNDS = re.compile(r"\s*([0-9]{1,9})\s*|\s*([0-9]{0,9})\s*,\s*([0-9]{0,9})\s*")
_NUMBER = re.compile(r"(?:-\s*)?\d[\d.]*")


@dataclass(frozen=True, kw_only=True)
class _PatternLexeme:
    """A lexeme of a pattern. `kind` is "name", "quoted", "symbol", "quantifier" or "end"."""

    kind: str
    text: str
    start: int
    stop: int


@dataclass(kw_only=True)
class _OpenBracket:
    """An open bracket: `bracket` is "(", "{-", "PERMUTE" or "" for the pattern itself."""

    bracket: str
    start: int
    elements: list[ast.Pattern] = field(default_factory=list)
    branches: list[ast.Pattern] = field(default_factory=list)
    arguments: list[ast.Pattern] = field(default_factory=list)  # of PERMUTE
    operator: _PatternLexeme | None = None  # -> or ->> in front of an element that has not been read yet
    has_bar: bool = False


def parse_pattern(source: str, start: int, stop: int) -> tuple[ast.Pattern, tuple[Name, ...]]:
    """The tree of the pattern in characters `start` to `stop` of `source`, and its variables in order of first use.

    Raises ParseError; UnsupportedError: PATTERN_TOO_DEEP (more than MAX_NESTING brackets inside one another),
    TOO_MANY_VARIABLES (more than MAX_VARIABLES different ones).

    >>> pattern, names = parse_pattern("a b+?", 0, 5)
    >>> pattern.items
    (Variable(name='A'), Quantified(item=Variable(name='B'), at_least=1, at_most=None, mode='reluctant'))
    >>> [name.key for name in names]
    ['A', 'B']
    """
    parser = _PatternParser(source, start, list(_lexemes(source, start, stop)))
    return parser.pattern(), tuple(parser.names.values())


def _error(error_class: str, message: str, source: str, start: int, stop: int, hint: str | None = None) -> ParseError:
    return ParseError(error_class, message, place=Place(source, start, stop), hint=hint)


def _lexemes(source: str, start: int, stop: int) -> Iterator[_PatternLexeme]:
    at = start
    while at < stop:
        match = _LEXEME.match(source, at, stop)
        if match is None:
            raise _unexpected_character(source, start, at)
        kind = match.lastgroup
        if kind == "comment":
            at = _end_of_comment(source, at, stop)
            continue
        if match[0] == "{--":
            hint = "put a space after {- and before -}."
            raise _error("COMMENT_IN_PATTERN", "{-- begins a comment", source, at, at + 3, hint)
        if kind != "space":
            yield _PatternLexeme(kind=str(kind), text=match[0], start=at, stop=match.end())
        at = match.end()
    yield _PatternLexeme(kind="end", text="", start=stop, stop=stop)


def _unexpected_character(source: str, start: int, at: int) -> ParseError:
    bound = _BEFORE_BOUND.search(source, start, at)
    if bound:
        stop, message = bound.start() + len("WITHIN"), "WITHIN follows the closing parenthesis of PATTERN"
        return _error(
            "UNEXPECTED_IN_PATTERN",
            message,
            source,
            bound.start(),
            stop,
            "write PATTERN (A B) WITHIN INTERVAL '1' HOUR.",
        )
    hints = {
        "'": 'quote a variable as `a` or "a".',
        ":": "a pattern takes no parameters.",
        "{": "bounds are {2}, {2,}, {,3} or {2,3}; an exclusion is {- A -}.",
        "-": "an exclusion is {- A -}.",
        ".": "a variable without a condition is true for any row: PATTERN (A any* B).",
    }
    hint = hints.get(source[at])
    if source[at] in "-." and source[at - 1 : at].isidentifier() and source[at + 1 : at + 2].isidentifier():
        hint = "a name with other characters is quoted: `a-b`."
    return _error("UNEXPECTED_IN_PATTERN", f"{source[at]} is not expected here in PATTERN", source, at, at + 1, hint)


def _end_of_comment(source: str, at: int, stop: int) -> int:
    """The offset just past a bracketed comment. Comments nest, as in Spark."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(source, at, stop):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return stop


class _PatternParser:
    def __init__(self, source: str, start: int, lexemes: list[_PatternLexeme]):
        self.source, self.lexemes, self.i = source, lexemes, 0
        self.names: dict[str, Name] = {}
        self.levels = [_OpenBracket(bracket="", start=start)]

    def pattern(self) -> ast.Pattern:
        while self._next.kind != "end":
            self._step()
        level = self.levels[-1]
        if level.bracket:
            stop = level.start + len(level.bracket)
            raise self._fail("UNCLOSED_BRACKET", f"{level.bracket} is not closed", level.start, stop)
        if not (level.elements or level.has_bar or level.operator):
            raise self._fail(
                "EMPTY_PATTERN",
                "PATTERN is empty",
                max(level.start - 1, 0),
                self._next.stop + 1,
                "the pattern that takes no rows is written PATTERN (()).",
            )
        return self._alternatives(level, self._next)

    @property
    def _next(self) -> _PatternLexeme:
        return self.lexemes[self.i]

    def _take(self) -> _PatternLexeme:
        self.i += 1
        return self.lexemes[self.i - 1]

    def _fail(self, error_class: str, message: str, start: int, stop: int, hint: str | None = None) -> ParseError:
        return _error(error_class, message, self.source, start, stop, hint)

    def _fail_at(self, error_class: str, message: str, lexeme: _PatternLexeme, hint: str | None = None) -> ParseError:
        return self._fail(error_class, message, lexeme.start, lexeme.stop, hint)

    def _step(self) -> None:
        """Read one element, operator or bracket."""
        lexeme = self._take()
        level = self.levels[-1]
        if lexeme.kind in ("name", "quoted"):
            if lexeme.text.upper() in _CONNECTIVES and lexeme.kind == "name":
                raise self._connective(lexeme)
            if lexeme.text.upper() == "PERMUTE" and lexeme.kind == "name" and self._next.text == "(":
                self._open("PERMUTE", lexeme, self._take())
            else:
                self._element(self._variable(lexeme))
        elif lexeme.text in ("(", "{-"):
            self._open(lexeme.text, lexeme, lexeme)
        elif lexeme.text in (")", "-}"):
            self._close(lexeme)
        elif lexeme.text in ("^", "$"):
            place = (lexeme.start, lexeme.stop)
            self._element(ast.PartitionStart(place=place) if lexeme.text == "^" else ast.PartitionEnd(place=place))
        elif lexeme.text in ("->", "->>"):
            self._check_no_operator(level, lexeme)
            level.operator = lexeme
        elif lexeme.text in ("!", "!->"):
            self._check_no_operator(level, lexeme)
            level.elements.append(self._absence(lexeme))
        elif lexeme.text in ("|", ","):
            self._separate(lexeme)
        else:
            raise self._misplaced(lexeme)

    def _connective(self, lexeme: _PatternLexeme) -> ParseError:
        word = lexeme.text.upper()
        hint = f"{_CONNECTIVES[word]} A variable called {word} is written `{word}`."
        return self._fail_at("UNEXPECTED_IN_PATTERN", f"{word} has no meaning in PATTERN", lexeme, hint)

    def _misplaced(self, lexeme: _PatternLexeme) -> ParseError:
        if lexeme.text == "||":
            return self._fail_at(
                "DOUBLE_BAR",
                "|| has no meaning in PATTERN",
                lexeme,
                "one | separates alternatives; an empty alternative is written ().",
            )
        return self._fail_at(
            "NOTHING_TO_REPEAT",
            f"there is nothing before {lexeme.text} that it could repeat",
            lexeme,
            "a quantifier follows a variable or a closing bracket.",
        )

    # variables

    def _variable(self, lexeme: _PatternLexeme) -> ast.Variable:
        name = Name("", Fragment(self.source, lexeme.start, lexeme.stop), lexeme.kind == "quoted")
        key = name.text if name.is_quoted else name.text.upper()
        if not key:
            raise self._fail_at("EMPTY_NAME", "a variable needs a name", lexeme)
        if key not in self.names:
            self.names[key] = Name(key, name.fragment, name.is_quoted)
            self._check_number_of_variables(lexeme)
        return ast.Variable(key, place=(lexeme.start, lexeme.stop))

    def _check_number_of_variables(self, lexeme: _PatternLexeme) -> None:
        if len(self.names) > MAX_VARIABLES:
            raise UnsupportedError(
                "TOO_MANY_VARIABLES",
                f"PATTERN has more than {MAX_VARIABLES} different variables",
                place=Place(self.source, lexeme.start, lexeme.stop),
                hint="variables with the same condition can be one variable.",
            )

    def _absence(self, operator: _PatternLexeme) -> ast.Absence:
        if self._next.kind not in ("name", "quoted"):
            hint = "!(A | B) is written !A !B." if self._next.text == "(" else None
            message = f"{operator.text} needs one variable after it"
            raise self._fail_at("NO_VARIABLE_AFTER_NOT", message, operator, hint)
        lexeme = self._take()
        if self._next.kind == "quantifier":
            message = f"{self.source[operator.start : lexeme.stop]} takes no row and cannot be repeated"
            raise self._fail_at("REPEATED_ABSENCE", message, self._next)
        return ast.Absence(operator.text, self._variable(lexeme), place=(operator.start, lexeme.stop))

    # elements

    def _element(self, primary: ast.Pattern) -> None:
        """Add `primary` with its quantifier, its UNTIL and the operator before it."""
        level = self.levels[-1]
        item = self._until(self._quantified(primary))
        if level.operator:
            item = ast.Relaxed(level.operator.text, item, place=(level.operator.start, item.place[1]))
            level.operator = None
        level.elements.append(item)

    def _quantified(self, item: ast.Pattern) -> ast.Pattern:
        if self._next.kind != "quantifier":
            return item
        quantifier = self._take()
        at_least, at_most = self._bounds(quantifier)
        mode, last = ast.GREEDY, quantifier
        if self._next.text in ("?", "+"):
            last = self._take()
            mode = ast.RELUCTANT if last.text == "?" else ast.POSSESSIVE
        if self._next.kind == "quantifier":
            inner = self.source[item.place[0] : last.stop]
            hint = f"put the first one into parentheses: ({inner if len(inner) < 40 else 'A*'}){self._next.text}."
            raise self._fail(
                "DOUBLE_QUANTIFIER",
                "an element can have only one quantifier with one suffix",
                quantifier.start,
                self._next.stop,
                hint,
            )
        return ast.Quantified(
            item=item, at_least=at_least, at_most=at_most, mode=mode, place=(item.place[0], last.stop)
        )

    def _bounds(self, lexeme: _PatternLexeme) -> tuple[int, int | None]:
        fixed = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if lexeme.text in fixed:
            return fixed[lexeme.text]
        match = _BOUNDS.fullmatch(lexeme.text[1:-1])
        if match is None:
            raise self._wrong_bound(lexeme)
        at_least, at_most = int(match[1] or match[2] or 0), int(match[1] or match[3] or -1)
        if at_most < 0:
            return at_least, None
        if at_most == 0:  # TR 19075-5 section 4.14: the upper bound is above 0
            message = f"{lexeme.text} repeats an element at most 0 times"
            hint = "leave the element out, or write an upper bound from 1 on; () is the empty pattern."
            raise self._fail_at("INVALID_QUANTIFIER", message, lexeme, hint)
        if at_most < at_least:
            raise self._fail_at(
                "INVALID_QUANTIFIER",
                f"{lexeme.text}: the lower bound is above the upper one",
                lexeme,
                f"write {{{at_most},{at_least}}}.",
            )
        return at_least, at_most

    def _wrong_bound(self, lexeme: _PatternLexeme) -> ParseError:
        """The error for bounds that are not numbers of repetitions, at the first number that is none."""
        number = next((n for n in _NUMBER.finditer(lexeme.text) if not _BOUNDS.fullmatch(n[0])), None)
        if number is None:
            hint = "bounds are {2}, {2,}, {,3} or {2,3}; an exclusion is {- A -}."
            return self._fail_at("INVALID_QUANTIFIER", f"{lexeme.text} is not a quantifier", lexeme, hint)
        message = f"{number[0]} is not a number of repetitions"
        start, stop = (lexeme.start + at for at in number.span())
        return self._fail("INVALID_QUANTIFIER", message, start, stop, "bounds are whole numbers from 0 to 999999999.")

    def _until(self, item: ast.Pattern) -> ast.Pattern:
        if self._next.kind != "name" or self._next.text.upper() != "UNTIL":
            return item
        keyword = self._take()
        if self._next.kind not in ("name", "quoted"):
            raise self._fail_at(
                "NO_VARIABLE_AFTER_UNTIL",
                "UNTIL needs a variable after it",
                keyword,
                "to use a variable called UNTIL, write `UNTIL`.",
            )
        lexeme = self._take()
        return ast.Until(item, self._variable(lexeme), place=(item.place[0], lexeme.stop))

    # branches and brackets

    def _check_no_operator(self, level: _OpenBracket, after: _PatternLexeme) -> None:
        if level.operator:
            operator = level.operator.text
            raise self._fail(
                "OPERATOR_WITHOUT_ELEMENT",
                f"{operator} needs an element after it",
                level.operator.start,
                after.stop,
                f"write A {operator} B.",
            )

    def _branch(self, level: _OpenBracket, after: _PatternLexeme) -> ast.Pattern:
        """The elements of the level as one pattern; `after` is the lexeme that ends them."""
        self._check_no_operator(level, after)
        items, level.elements = tuple(level.elements), []
        if not items:
            raise self._nothing(level, after)
        place = (items[0].place[0], items[-1].place[1])
        return items[0] if len(items) == 1 else ast.Concatenation(items, place=place)

    def _nothing(self, level: _OpenBracket, after: _PatternLexeme) -> ParseError:
        if level.bracket == "{-" and not level.has_bar:
            return self._fail("EMPTY_EXCLUSION", "{- -} excludes nothing", level.start, after.stop)
        stop = max(after.stop, after.start + 1)
        return self._fail(
            "EMPTY_ALTERNATIVE",
            "an alternative or element is missing here",
            after.start,
            stop,
            "an alternative that takes no rows is written ().",
        )

    def _alternatives(self, level: _OpenBracket, after: _PatternLexeme) -> ast.Pattern:
        branches = (*level.branches, self._branch(level, after))
        level.branches, level.has_bar = [], False
        if len(branches) == 1:
            return branches[0]
        return ast.Alternation(branches, place=(branches[0].place[0], branches[-1].place[1]))

    def _separate(self, lexeme: _PatternLexeme) -> None:
        level = self.levels[-1]
        if lexeme.text == "|":
            level.has_bar = True
            level.branches.append(self._branch(level, lexeme))
        elif level.bracket == "PERMUTE":
            level.arguments.append(self._alternatives(level, lexeme))
        else:
            raise self._fail_at(
                "COMMA_IN_PATTERN",
                "a comma is allowed only between the elements of PERMUTE",
                lexeme,
                "separate elements that follow one another by spaces.",
            )

    def _open(self, bracket: str, first: _PatternLexeme, last: _PatternLexeme) -> None:
        self.levels.append(_OpenBracket(bracket=bracket, start=first.start))
        if len(self.levels) > MAX_NESTING:
            raise depth_error().with_(place=Place(self.source, first.start, last.stop))

    def _close(self, lexeme: _PatternLexeme) -> None:
        level = self.levels[-1]
        expected = {"": "", "{-": "-}"}.get(level.bracket, ")")
        if lexeme.text != expected:
            hint = f"{level.bracket} is open here." if level.bracket else None
            raise self._fail_at("UNEXPECTED_BRACKET", f"{lexeme.text} closes nothing", lexeme, hint)
        place = (level.start, lexeme.stop)
        if level.bracket == "(" and not (level.elements or level.has_bar or level.operator):
            node: ast.Pattern = ast.Empty(place=place)
        else:
            node = self._alternatives(level, lexeme)
        if level.bracket == "{-":
            node = ast.Exclusion(node, place=place)
        elif level.bracket == "PERMUTE":
            node = ast.Permutation((*level.arguments, node), place=place)
        else:
            node = replace(node, place=place)  # with its parentheses
        self.levels.pop()
        self._element(node)
