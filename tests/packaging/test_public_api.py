"""The public interface: what `docs/api.md` describes, and what must not leave it without a deprecation."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path

import pytest

import sqlext
from sqlext.spark.progress import kept_state
from tests.built_wheel import ROOT

LINES = [line for line in (Path(__file__).parent / "public_api.txt").read_text("utf-8").splitlines() if line[0] != "#"]
PAGE = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("api.md", "python.md"))
ERROR = sqlext.BindError("X", "a message")


def called(function: object) -> list[str]:
    """How a function is called: its parameters, those with a default as `name=`.

    >>> called(sqlext.state)
    ['query', 'key=', '*', 'spark=']
    """
    words = []
    for parameter in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        prefix = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        words.append(f"{prefix}{parameter.name}" + "=" * (parameter.default is not parameter.empty))
    return words


def missing(line: str) -> list[str]:
    """What a line of the list promises and the package does not have."""
    name = re.split(r"[ (]", line)[0]
    thing = getattr(sqlext, name)
    if "(" in line:
        promised = line.partition("(")[2].rstrip(")").split(", ")
        required = [word for word in called(thing) if word.isidentifier() and word not in promised]
        in_order = [word for word in called(thing) if word in promised]
        return required if in_order == promised else [*required, line]
    words = line.split()[1:]
    bases = [base.__name__ for base in thing.__mro__]
    attributes = {*dir(thing), *getattr(thing, "__dataclass_fields__", ()), *vars(ERROR), "errors"}
    return [word for word in words if word not in (bases if word[0].isupper() else attributes)]


@pytest.mark.parametrize("line", LINES, ids=lambda line: re.split(r"[ (]", line)[0])
def test_a_name_stays_as_it_was(line):
    assert missing(line) == []


def test_each_name_is_in_the_list_and_on_the_page():
    names = [re.split(r"[ (]", line)[0] for line in LINES]
    assert sorted(names) == sorted([*sqlext.__all__, *sqlext._DEPRECATED])
    assert [name for name in names if f"`{name}" not in PAGE and f"`sqlext.{name}" not in PAGE] == []


def test_the_page_has_each_argument():
    arguments = {word.strip("=*") for line in LINES if "(" in line for word in line.partition("(")[2][:-1].split(", ")}
    assert [word for word in sorted(arguments - {""}) if not re.search(rf"`(\*\*)?{word}`", PAGE)] == []


def test_a_name_that_leaves_works_and_warns(monkeypatch):
    monkeypatch.setitem(sqlext._DEPRECATED, "kept_state", ("sqlext.spark.progress", "0.2", "sqlext.state"))
    with pytest.warns(DeprecationWarning, match=r"sqlext.kept_state is deprecated since sqlext 0.2: use sqlext.state"):
        assert sqlext.kept_state is kept_state  # type: ignore[attr-defined]
    with warnings.catch_warnings(), pytest.raises(AttributeError, match="no_such_name"):
        sqlext.no_such_name  # noqa: B018  # type: ignore[attr-defined]


def test_a_deprecated_name_leaves_after_one_minor_version():
    """The test fails when a name may go, so that it is not forgotten."""
    minor = tuple(map(int, sqlext.__version__.split(".")[:2]))
    since = {name: tuple(map(int, version.split(".")[:2])) for name, (_, version, _) in sqlext._DEPRECATED.items()}
    assert {name for name, version in since.items() if (version[0], version[1] + 1) < minor} == set()
