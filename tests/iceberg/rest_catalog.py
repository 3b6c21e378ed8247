"""A REST catalog of Iceberg on this machine: the server of Iceberg's own tests, on loopback and a free port.

    with rest_catalog(folder) as address:
        ...

It ends with the block, and with the process that started it, however that ends. Its jars are from Maven Central;
without them `rest_catalog` raises NoJars.
"""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.standalone import free_port
from tests.kafka.broker import with_parent
from tests.kafka.jars import JAVA, SPARK_JARS, jars

_VERSION = "1.11.0"
_JARS = (
    f"org.apache.iceberg:iceberg-open-api:{_VERSION}:test-fixtures",
    f"org.apache.iceberg:iceberg-core:{_VERSION}:,tests",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.1",
    *(f"org.eclipse.jetty.compression:jetty-compression-{name}:12.1.1" for name in ("server", "gzip")),
)
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_STARTS = 60  # seconds


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """The address of a catalog whose tables are in a folder. Raises NoJars, and RuntimeError if it does not start."""
    # Hadoop's classes are in Spark's jars
    classpath = os.pathsep.join([*map(str, jars(_JARS)), f"{SPARK_JARS}/*"])
    port = free_port()
    names = {
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_URI": f"jdbc:sqlite:{folder / 'catalog.db'}",
        "CATALOG_WAREHOUSE": str(folder / "tables"),
        "CATALOG_REST_PORT": str(port),
    }
    command = (JAVA, *_OPTIONS, "-cp", classpath, "org.apache.iceberg.rest.RESTCatalogServer")
    with with_parent(command, folder / "printed", {**os.environ, **names}):
        yield _started(f"http://127.0.0.1:{port}", folder / "printed")


def _started(address: str, printed: Path) -> str:
    """The address, as soon as the server answers."""
    for _ in range(_STARTS * 10):
        try:
            urllib.request.urlopen(f"{address}/v1/config", timeout=5).close()
            return address
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)  # it has nothing that could be waited for
    raise RuntimeError(f"the catalog did not start: {printed.read_text()[-3000:]}")
