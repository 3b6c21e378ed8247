"""Cases of reports in data files: a title, what is asked about, and lines of the report."""

from __future__ import annotations

from pathlib import Path


def cases(name: str) -> list[list[str]]:
    """The lines of each case of a data file; a case begins with its title, after `--- `."""
    path = Path(__file__).parent / name
    return [part.strip().split("\n") for part in path.read_text().split("\n--- ")[1:]]


def assert_lines(text: str, expected: list[str]) -> None:
    """Each expected line, after `=> `, is in a line of the text, in this order; the first one is near its top."""
    shown, at = text.splitlines(), 0
    for line in (line.removeprefix("=> ") for line in expected):
        found = next((i for i in range(at, len(shown)) if line in shown[i]), None)
        assert found is not None, f"{line!r} is missing in\n{text}"
        at = found
    assert expected[0].removeprefix("=> ") in "\n".join(shown[:5])
