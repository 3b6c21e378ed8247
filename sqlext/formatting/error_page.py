"""The pages of errors, which the documentation has too: cause, cure and examples of each, by its name.

`python -m website.error_pages` writes the file `error_pages.md` from the sources and the data of the tests.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "error_pages.md"


@cache
def error_pages() -> dict[str, str]:
    """The text of each page in Markdown, by the name of its error.

    >>> print(error_pages()["SQLEXT_DUPLICATE_ARGUMENT"].partition("## Cure")[2].strip())
    Write the argument once.
    """
    pages = re.split(r"^(?=# SQLEXT_)", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return {page.partition("\n")[0].removeprefix("# "): page.strip() for page in pages if page.startswith("#")}
