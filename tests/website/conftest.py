"""The documentation site, built once for all tests that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from website.build import build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("website")
    assert "Warning" not in build(folder)
    return folder / "site"
