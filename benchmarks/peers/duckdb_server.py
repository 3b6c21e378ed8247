"""Answers SQL in DuckDB's own virtual environment, which has nothing of ours: a script, started by duckdb.py.

One line of JSON in, {"sql": …}; one line out, {"rows": […]} or {"error": …}. Numbers, text, Booleans and NULL are
JSON's, all else is text. The argument is the folder for temporary files.
"""

from __future__ import annotations

import json
import os
import sys

THREADS = 2  # Spark has local[2]


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # holds a duckdb.py, which would be imported instead
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    import duckdb

    connection = duckdb.connect(config={"threads": THREADS, "temp_directory": sys.argv[1]})
    for line in sys.stdin:
        try:
            reply = {"rows": connection.execute(json.loads(line)["sql"]).fetchall()}
        except duckdb.Error as error:  # a query's failure is its answer, the next one may be right
            reply = {"error": str(error)}
        print(json.dumps(reply, default=str), flush=True)


if __name__ == "__main__":
    main()
