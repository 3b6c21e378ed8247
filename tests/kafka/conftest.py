"""One broker for the tests of a process."""

from __future__ import annotations

import pytest

from tests.engine.conftest import events  # noqa: F401

from .broker import broker
from .jars import BROKER, NoJars, connector_jars, jars


@pytest.fixture(scope="session")
def kafka_jars():
    """Skips tests where the jars of the broker and of Spark's connector cannot be had."""
    try:
        return jars(BROKER), connector_jars()
    except NoJars as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def kafka(kafka_jars):
    """A broker. Tests that take it, and `spark`, read and write its topics; give each of them topics of its own."""
    with broker() as started:
        yield started
