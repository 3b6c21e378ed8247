#!/usr/bin/env bash
# pandas API on Spark (PySpark 4.2.0): a join on a categorical column joins the codes of the categories, not their values.
#
# Two frames have the same column of cities as a category, as it comes from Parquet files or a saved dtype. A code is the
# place of a value in the list of the frame's own categories, and these lists need not agree in their order. pandas joins
# the values. `merge`, `join` and `merge_asof` of pyspark.pandas join the codes: Oslo, code 0 on the left, gets the tax
# of Rome, which is code 0 on the right. No error and no warning; the column of the result holds the codes, as int8.
#
# The same happens wherever a frame becomes a Spark DataFrame: `isin(["Oslo"])` compares the text with codes and finds
# nothing, while `== "Oslo"` finds the rows; `ps.concat` puts codes of both lists into one column; and `to_parquet` and
# `to_spark` write codes without the list, so what they mean is lost. `groupby` and `unique` show the values.
#
# Needs Java 17. Installs pyspark==4.2.0 and pandas==2.3.3 into a temporary folder. Fails if Spark behaves otherwise.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0 pandas==2.3.3 pyarrow==22.0.0
cat > "$work/ask.py" <<'PYTHON'
import sys
import warnings

import pandas as pd
import pyspark
import pyspark.pandas as ps
from pyspark.sql import SparkSession

warnings.simplefilter("ignore")
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
print("PySpark", pyspark.__version__, "pandas", pd.__version__)

sales = pd.DataFrame({"city": pd.Categorical(["Oslo", "Rome"], ["Oslo", "Rome"]), "n": [1, 2], "t": [5, 5]})
taxes = pd.DataFrame({"city": pd.Categorical(["Rome", "Oslo"], ["Rome", "Oslo"]), "tax": [22, 25], "t": [1, 1]})
on_spark = ps.from_pandas(sales), ps.from_pandas(taxes)


def show(what, frame):
    pairs = sorted(zip(*(frame[name].tolist() for name in ("city", frame.columns[-1]))))
    print(f"{what:35s} {pairs}", flush=True)
    return pairs


def merged(left, right):
    return left[["city", "n"]].merge(right[["city", "tax"]], on="city")


def joined(left, right):
    return left.set_index("city")[["n"]].join(right.set_index("city")[["tax"]]).reset_index()


def as_of(left, right):
    by_time = (ps if isinstance(left, ps.DataFrame) else pd).merge_asof
    return by_time(left, right, on="t", by="city")[["city", "tax"]]


for name, join in {"merge": merged, "join": joined}.items():
    assert show(f"pandas, {name}", join(sales, taxes)) == [("Oslo", 25), ("Rome", 22)]
    assert show(f"pandas on Spark, {name}", join(*on_spark).to_pandas()) == [(0, 22), (1, 25)]
assert show("pandas on Spark, merge_asof", as_of(*on_spark).to_pandas()) == [(0, 22), (1, 25)]
cities = on_spark[0].city
counts = [int(found.sum()) for found in (cities == "Oslo", cities.isin(["Oslo"]))]
print("rows by == and by isin", counts)
assert counts == [1, 0]
on_spark[0].to_parquet(f"{sys.argv[1]}/sales")
assert show("pandas on Spark, to_parquet", pd.read_parquet(f"{sys.argv[1]}/sales")[["city", "n"]]) == [(0, 1), (1, 2)]
spark.stop()
PYTHON
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
