"""Options of Java for the processes that tests start."""

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"  # the variable from which Spark's Java takes them

# The processes are short, so Java does not optimize. Without its optimizer it keeps 48 MB for compiled code, which some
# tests fill: Java would then write a warning into the output that the test reads, and compile no more.
SHORT = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
