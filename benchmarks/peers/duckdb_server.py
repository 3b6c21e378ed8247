"""Answer SQL in DuckDB's own virtual environment, which has none of our packages: a script that duckdb.py starts.

It reads lines of JSON, {"sql": …}, and answers each with one line, {"rows": […]} or {"error": …}. Numbers, text,
Booleans and NULL are JSON values; all other values are text. The argument is the folder for temporary files.
"""

from __future__ import annotations

import json
import os
import sys

THREADS = 2  # Spark has local[2]


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # has a duckdb.py, which would be imported instead
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    import duckdb

    connection = duckdb.connect(config={"threads": THREADS, "temp_directory": sys.argv[1]})
    for line in sys.stdin:
        try:
            reply = {"rows": connection.execute(json.loads(line)["sql"]).fetchall()}
        except duckdb.Error as error:  # the failure is the answer to this query; the next one may succeed
            reply = {"error": str(error)}
        print(json.dumps(reply, default=str), flush=True)


if __name__ == "__main__":
    main()
