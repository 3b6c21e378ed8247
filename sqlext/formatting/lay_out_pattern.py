"""Lays out the body of PATTERN ( … ), as in `(A B+? (C | D){2,5})`."""

from __future__ import annotations

from sqlext.formatting.gaps import Layout, comments, gap_before
from sqlext.rewriter.text.tokens import Tokens

_QUANTIFIERS = ("*", "+", "?")


def lay_out_pattern(text: str, tokens: Tokens, opening: int, closing: int, layout: Layout) -> None:
    """Set the gaps between the tokens of a pattern.

    Ends of lines and comments are kept, and further lines move with the first line.
    """
    layout.gaps[opening] = " "
    layout.blocks[opening] = closing + 1
    in_braces = False
    for i in range(opening + 1, closing + 1):
        in_braces = _opens_bounds(tokens, i - 1) or (in_braces and tokens[i - 1].text != "}")
        gap = gap_before(text, tokens, i)
        if "\n" not in gap and not any(True for _ in comments(gap)):
            layout.gaps[i] = _gap(tokens, i, gap, in_braces=in_braces)


def _gap(tokens: Tokens, i: int, gap: str, *, in_braces: bool) -> str:
    before, token = tokens[i - 1].text, tokens[i].text
    if in_braces or before == "(" or token in (")", ","):
        return ""
    if _opens_bounds(tokens, i) or (token.startswith(_QUANTIFIERS) and before != "|"):
        return ""
    if before == "," or "|" in (before, token):
        return " "
    return " " if gap else ""


def _opens_bounds(tokens: Tokens, i: int) -> bool:
    """Whether `{2,5}` begins at token i, and not an exclusion `{- … -}`."""
    return tokens[i].text == "{" and tokens[i + 1].text.isdigit() | (tokens[i + 1].text == ",")
