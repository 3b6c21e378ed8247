"""Reads `sqlext/formatting/grammar.ebnf`, matches texts against its rules, and generates random sentences of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from sqlext.formatting.keywords import GRAMMAR

_TOKEN = re.compile(r'"[^"]+"|\w+|[|()\[\]{}]')
_RULE = re.compile(r"^(\w+)\s*= (.*(?:\n[ \t]+.*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Terminal:
    """Words or a symbol that are written as they are."""

    text: str


@dataclass(frozen=True)
class Rule:
    """The name of a rule, or of a part that Spark reads."""

    name: str


@dataclass(frozen=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Optional:
    item: Node


@dataclass(frozen=True)
class Repeated:
    """The item any number of times, also never."""

    item: Node


Node = Terminal | Rule | Sequence | Choice | Optional | Repeated


@dataclass(frozen=True)
class Grammar:
    """`rules` by their names, and the section of the documentation that shows each: "language.md#define"."""

    rules: Mapping[str, Node]
    sections: Mapping[str, str]


@cache
def grammar() -> Grammar:
    """The grammar of the extended language.

    >>> grammar().rules["skip_to"].items[0], grammar().sections["skip_to"]
    (Terminal(text='SKIP TO'), 'language.md#after-match-skip')
    """
    rules: dict[str, Node] = {}
    sections: dict[str, str] = {}
    text = re.sub(r"^#.*\n", "", GRAMMAR.read_text("utf-8"), flags=re.MULTILINE)
    for paragraph in text.split("@ ")[1:]:
        section, _, body = paragraph.partition("\n")
        for name, expression in _RULE.findall(body):
            rules[name], sections[name] = _Reader(_TOKEN.findall(expression)).choice(), section.strip()
    return Grammar(rules, sections)


class _Reader:
    """Reads the right side of a rule."""

    def __init__(self, tokens: list[str]):
        self.tokens, self.i = tokens, 0

    def choice(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.i += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _peek(self) -> str:
        return self.tokens[self.i] if self.i < len(self.tokens) else ""

    def _sequence(self) -> Node:
        items = []
        while self._peek() not in ("", "|", ")", "]", "}"):
            items.append(self._item())
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _item(self) -> Node:
        token = self._peek()
        self.i += 1
        if token in ("(", "[", "{"):
            inside = self.choice()
            self.i += 1
            return {"(": lambda node: node, "[": Optional, "{": Repeated}[token](inside)
        return Terminal(token[1:-1]) if token[0] == '"' else Rule(token)


# Whether a text is a sentence


_LEXEME = re.compile(
    r"""\s+ | --[^\n]* | /\*.*?\*/
    | (?P<text> '(?:[^'\\]|\\.)*' | "[^"]*" | `[^`]*` | \d+(?:\.\d+)?\w* | [^\W\d]\w*
    | \{- | -\} | !-> | ->> | -> | => | . )""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def lexemes(text: str) -> list[str]:
    """The words and symbols of a text.

    >>> lexemes("PATTERN (a{2} -> b)")
    ['PATTERN', '(', 'a', '{', '2', '}', '->', 'b', ')']
    """
    return [match["text"] for match in _LEXEME.finditer(text) if match["text"]]


def is_sentence(text: str, rule: str) -> bool:
    """Return True if the whole text is a sentence of the rule.

    >>> is_sentence("AFTER MATCH SKIP TO LAST b", "after_match"), is_sentence("AFTER MATCH SKIP TO", "after_match")
    (True, False)
    """
    words = lexemes(text)
    return len(words) in _Matcher(words).ends(Rule(rule), 0)


class _Matcher:
    """The positions at which a node that begins at a position can end; each pair is computed once."""

    def __init__(self, words: list[str]):
        self.words = words
        self.known: dict[tuple[Node, int], frozenset[int]] = {}

    def ends(self, node: Node, start: int) -> frozenset[int]:
        key = (node, start)
        if key not in self.known:
            self.known[key] = frozenset(self._ends(node, start))
        return self.known[key]

    def _ends(self, node: Node, start: int) -> set[int]:
        if isinstance(node, Terminal):
            wanted = node.text.upper().split()
            found = [word.upper() for word in self.words[start : start + len(wanted)]]
            return {start + len(wanted)} if found == wanted else set()
        if isinstance(node, Choice):
            return {end for item in node.items for end in self.ends(item, start)}
        if isinstance(node, Optional):
            return {start, *self.ends(node.item, start)}
        if isinstance(node, Sequence):
            positions = {start}
            for item in node.items:
                positions = {end for position in positions for end in self.ends(item, position)}
            return positions
        if isinstance(node, Repeated):
            return self._repeated(node, start)
        if node.name in grammar().rules:
            return set(self.ends(grammar().rules[node.name], start))
        return self._leaf(node.name, start)

    def _repeated(self, node: Repeated, start: int) -> set[int]:
        reached, new = {start}, {start}
        while new:
            new = {end for position in new for end in self.ends(node.item, position)} - reached
            reached |= new
        return reached

    def _leaf(self, name: str, start: int) -> set[int]:
        """What Spark reads: one word for names and literals, else any words with whole brackets and without commas."""
        if start >= len(self.words):
            return set()
        word = self.words[start]
        if name in ("name", "variable"):
            return {start + 1} if re.match(r"[^\W\d]|[`\"]", word) else set()
        if name in ("number", "string"):
            return {start + 1} if re.match(r"\d" if name == "number" else "'", word) else set()
        ends, open_, i = set(), [], start
        commas = "" if name in ("query", "relation") else ","
        while i < len(self.words) and (open_ or self.words[i] not in (")", "]", "}", commas)):
            word = self.words[i]
            if word in _CLOSING:
                open_.append(_CLOSING[word])
            elif open_ and word == open_[-1]:
                open_.pop()
            i += 1
            if not open_:
                ends.add(i)
        return ends


# Sentences


class Generator:
    """Random sentences. `samples` are texts for the parts that Spark reads, by their names.

    Alternatives that have been taken least often are preferred, so that a few hundred sentences take all of them.
    """

    def __init__(self, samples: Mapping[str, tuple[str, ...]], random: Random):
        self.samples, self.random = samples, random
        self.taken: dict[tuple[Node, int], int] = {}

    def sentence(self, rule: str, depth: int = 12) -> str:
        """A sentence of the rule; below `depth` optional parts are left out and the first alternatives are taken."""
        return self._text(Rule(rule), depth)

    def _text(self, node: Node, depth: int) -> str:
        if isinstance(node, Terminal):
            return node.text
        if isinstance(node, Sequence):
            return " ".join(text for item in node.items if (text := self._text(item, depth - 1)))
        if isinstance(node, Choice):
            return self._text(node.items[self._option(node, len(node.items), depth)], depth - 1)
        if isinstance(node, Optional):
            return self._text(node.item, depth - 1) if self._option(node, 2, depth) else ""
        if isinstance(node, Repeated):
            count = self._option(node, 3, depth)
            return " ".join(self._text(node.item, depth - 1) for _ in range(count))
        if node.name in grammar().rules:
            return self._text(grammar().rules[node.name], depth - 1)
        return self.random.choice(self.samples[node.name])

    def _option(self, node: Node, number: int, depth: int) -> int:
        if depth <= 0:
            return 0
        counts = [self.taken.get((node, i), 0) + self.random.random() for i in range(number)]
        chosen = counts.index(min(counts))
        self.taken[node, chosen] = self.taken.get((node, chosen), 0) + 1
        return chosen
