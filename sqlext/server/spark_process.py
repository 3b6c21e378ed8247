"""The process of a server that holds Spark, and offers a session for each client, at a port and with a secret of its
own.

It is a process of its own because the one that forks must have no connections to a JVM, which forks would share.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

from sqlext.catalog.warehouse import warehouse_tables
from sqlext.errors import SqlExtError
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.server.places import Settings
from sqlext.sessions.hook import unhooked
from sqlext.sessions.session import session
from sqlext.spark.locations import local_path
from sqlext.spark.quiet_probes import quiet_probes

_WARM_UP = "SELECT * FROM range(9) MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS id > 4)"
_NO_FILES = "DELTA_TABLE_NOT_FOUND"


@dataclass
class Offers:
    """The sessions of clients, and one more, which is made before a client asks for it."""

    spark: Any
    warehouse: Path | None
    clients: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # the gateway and the session of each number
    tables: dict[Path, int] = field(default_factory=dict)  # the logs of the warehouse, by inode, when last looked at
    spare: dict[str, Any] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make the session that the next client gets."""
        offered = self.spark._jsparkSession.newSession()
        offered.sql("SELECT 1").count()  # computes what a session computes at its first query
        jvm, secret, number = self.spark._jvm, secrets.token_hex(32), max(self.clients, default=0) + 1
        builder = jvm.py4j.ClientServer.ClientServerBuilder(offered).authToken(secret).javaPort(0)
        gateway = builder.javaAddress(jvm.java.net.InetAddress.getLoopbackAddress()).build()
        gateway.startServer()
        self.clients[number] = (gateway, offered)
        self.spare = {"number": number, "port": gateway.getJavaServer().getListeningPort(), "secret": secret}

    def open(self) -> dict[str, Any]:
        """The number, the port and the secret of a session."""
        self.forget_removed_tables()
        return self.spare

    def close(self, number: int) -> None:
        """End what the client with this number has left: streams, jobs, and with the last client all caches."""
        gateway, offered = self.clients.pop(number)
        with suppress(Exception):  # of a stream that fails while it is stopped
            for query in offered.streams().active():
                query.stop()
        offered.interruptAll()  # before the gateway, whose threads wait for the jobs
        gateway.shutdown()
        if list(self.clients) == [self.spare["number"]]:
            self.spark.catalog.clearCache()

    def forget_removed_tables(self) -> None:
        """Drop tables from the catalog whose files were removed, or replaced, by other programs.

        Spark's catalog and Delta's cache live as long as the server, and those of a command only as long as it.
        """
        if self.warehouse is None:
            return
        found = warehouse_tables(self.warehouse)
        logs = {table.folder: os.stat(table.folder / "_delta_log").st_ino for table in found}
        is_replaced = any(logs.get(folder, inode) != inode for folder, inode in self.tables.items())
        self.tables = logs
        removed = [name for name in self._known_tables() - {table.name for table in found} if self._is_removed(name)]
        if removed or is_replaced:
            self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        for name in removed:
            self.sql(f"DROP TABLE IF EXISTS {quote(name)}")

    def _known_tables(self) -> set[Parts]:
        databases = [row[0] for row in self.sql("SHOW DATABASES").collect()]
        tables = (self.sql(f"SHOW TABLES IN {quoted(name)}").collect() for name in databases)
        return {(row[0], row[1]) for rows in tables for row in rows}

    def _is_removed(self, name: Parts) -> bool:
        try:
            with quiet_probes():
                self.sql(f"SELECT 1 FROM {quote(name)}")  # is only analysed
        except PySparkException as error:
            return _NO_FILES in str(error)
        return False

    @property
    def sql(self) -> Any:
        return unhooked(self.spark)


def main() -> None:
    """Start Spark with the settings on the first line of standard input, and answer the lines that follow."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Spark prints goes to the log
    wanted = Settings(**json.loads(sys.stdin.readline()))
    conf = {"spark.log.level": "OFF"} | dict(entry.split("=", 1) for entry in wanted.conf)
    try:
        with quiet_probes():
            spark = session("sqlext server", wanted.master, wanted.warehouse, **conf)
            spark.sql(_WARM_UP).collect()
    except SqlExtError as error:
        print(json.dumps({"failure": str(error)}), file=answers, flush=True)
        return
    offers = Offers(spark, local_path(wanted.warehouse))
    offers.forget_removed_tables()
    offers.prepare()
    print(json.dumps({"spark": spark.version}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "close" in request:
            offers.close(request["close"])
        else:
            print(json.dumps(offers.open()), file=answers, flush=True)
            offers.prepare()
    spark.stop()


if __name__ == "__main__":
    main()
