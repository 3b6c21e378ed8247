"""The pages of errors, which the documentation has too: cause, cure and examples of each, by its name.

`python -m website.error_pages` writes the file `error_pages.md` from the sources and the data of the tests. Which names
have a page is known only here.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

FILE = files("sqlext").joinpath("error_pages.md")  # also in a zip
_PREFIX = "SQLEXT_"


@cache
def error_pages() -> dict[str, str]:
    """The text of each page in Markdown, by the name of its error.

    >>> print(error_pages()["SQLEXT_DUPLICATE_ARGUMENT"].partition("## Cure")[2].strip())
    Write the argument once.
    """
    try:
        text = FILE.read_text("utf-8")
    except OSError:  # an archive of `sqlext pack`, which has code only
        return {}
    pages = re.split(rf"^(?=# {_PREFIX})", text, flags=re.MULTILINE)
    return {page.partition("\n")[0].removeprefix("# "): page.strip() for page in pages if page.startswith("#")}


def page_name(error: str) -> str | None:
    """The name of the page about an error, without its prefix; None if there is none.

    The error may be written as Spark writes it, and an error of Spark that has no page has the page of its class.

    >>> page_name("SQLEXT_DUPLICATE_ARGUMENT"), page_name("[parse_syntax_error]"), page_name("SQLEXT_NO_SUCH_ERROR")
    ('DUPLICATE_ARGUMENT', 'PARSE_SYNTAX_ERROR', None)
    >>> page_name("UNRESOLVED_COLUMN.WITH_SUGGESTION"), page_name("SQLEXT_DATATYPE_MISMATCH_BINARY_OP_DIFF_TYPES")
    ('UNRESOLVED_COLUMN_WITH_SUGGESTION', 'DATATYPE_MISMATCH')
    """
    name = error.strip("[]").upper().replace(".", "_").removeprefix(_PREFIX)
    pages = error_pages()
    if _PREFIX + name in pages:
        return name
    while "_" in name:
        name = name.rpartition("_")[0]
        if is_of_spark(name):
            return name
    return None


def is_of_spark(name: str) -> bool:
    """True if Spark raises the error, too.

    >>> is_of_spark("PARSE_SYNTAX_ERROR"), is_of_spark("STEP_BUDGET")
    (True, False)
    """
    return "\n`PySparkException`, " in error_pages().get(_PREFIX + name, "")


def page(error: str) -> str | None:
    """The page about an error in Markdown; None if there is none."""
    name = page_name(error)
    return None if name is None else error_pages()[_PREFIX + name]
