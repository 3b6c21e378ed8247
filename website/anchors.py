"""The anchors of headings, which are the same on GitHub and on the site."""

from __future__ import annotations

import re


def anchor(heading: str, separator: str = "-") -> str:
    """The anchor of a heading.

    >>> anchor("`ASOF JOIN`, on time")
    'asof-join-on-time'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)
