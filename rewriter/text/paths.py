"""The names in paths into variants: `a` and `A` in `v:a` and `v:A` are two names, as all names in JSON."""

from __future__ import annotations

from collections.abc import Sequence


def words_of_paths(words: Sequence[str]) -> set[int]:
    """The indexes of the names in paths.

    >>> words = "v : a . B [ 0 ] . c :: INT + s . X , CAST ( s AS STRUCT < d : INT > ) : e".split()
    >>> [words[i] for i in sorted(words_of_paths(words))]
    ['a', 'B', 'c', 'e']
    """
    result: set[int] = set()
    structs, in_path = 0, False
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        if word == "<" and before.upper() == "STRUCT":
            structs += 1
        elif structs:
            structs = max(0, structs - word.count(">"))
        elif word == ":":
            in_path = True
        elif in_path and before in (":", ".") and (word[0].isalpha() or word[0] in "_`"):
            result.add(i)
        elif word not in (".", "[", "]") and before != "[":
            in_path = False
    return result
