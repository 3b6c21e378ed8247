"""One build of the distributions for all tests of the folder; whoever takes the fixture `built` is slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.built_wheel import build


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "built" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def wheel(built: tuple[Path, Path]) -> Path:
    return built[1]
