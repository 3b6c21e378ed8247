"""Options of Java for the session that the tests share and for the processes that they start."""

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"  # the variable from which Spark's Java takes them

# Tests run each piece of code a few times on a few rows, so Java does not optimize. 258 cases of tests/statements took
# 106 s of processor time in one session, and 196 s with the optimizer, which took 80 of them itself. Without it Java
# keeps 48 MB for compiled code, which some tests fill: it would then write a warning into the output that the test
# reads, and compile no more.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC"
