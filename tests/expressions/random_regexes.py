"""Random regular expressions in Java's syntax, and texts that they may match."""

from __future__ import annotations

import random

ATOMS = ["a", "b", "ab", ".", "[ab]", "[^a]", "\\d", "\\w", "\\s", "é", "^", "$", "\\z", "[a-c]", "A", "\\n", "\\Z", "",
         "[^\\s]", "\\x41", "\\u00e9", "\\p{Lower}", "\\Qa.\\E", "[\\d-]", "[]a]", "\\0101", "\\h"]  # fmt: skip
# Java before 19 counts letters beyond ASCII for these, too
BOUNDARIES = ["\\b", "\\B"]
TIMES = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}", "{2,}", "{1,}?"]
LOOKS_BEHIND = ["a", "b|c", "ab", "^a", "a{1,2}"]


def random_pattern(rng: random.Random, depth: int = 4, has_boundaries: bool = True) -> str:
    """A pattern that is valid."""
    inner = [random_pattern(rng, depth - 1, has_boundaries) for _ in range(2)] if depth else []
    kind = rng.random() if depth else 0
    if kind < 0.35:
        return rng.choice(ATOMS + BOUNDARIES if has_boundaries else ATOMS)
    if kind < 0.55:
        return "".join(inner)
    if kind < 0.65:
        return f"(?:{'|'.join(inner)})"
    if kind < 0.75:
        return f"({inner[0]})"
    if kind < 0.8:
        return f"({'|'.join(inner)})"
    if kind < 0.84:
        return f"({rng.choice(['?=', '?!'])}{inner[0]})"
    if kind < 0.86:
        return f"({rng.choice(['?<=', '?<!'])}{rng.choice(LOOKS_BEHIND)})"
    if kind < 0.88:
        return rng.choice(["\\1", "\\2"])
    return f"(?:{inner[0]}){rng.choice(TIMES)}"


def random_text(rng: random.Random) -> str:
    ends = [""] * 5 + ["\r\n", "\r", "\u2028"]
    return "".join(rng.choices("aaabbcA1 é\n.", k=rng.randrange(9))) + rng.choice(ends)
