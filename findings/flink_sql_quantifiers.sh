#!/usr/bin/env bash
# Flink SQL 2.3.0, MATCH_RECOGNIZE: a quantifier that allows more finds nothing, and B? is the reluctant B??, which is
# refused as not supported.
#
# Prices 12, 17, 19, 21, 16, 14, 13, 15, one a second. A is any row above 10, B above 12, C above 13, with
# AFTER MATCH SKIP PAST LAST ROW. Quantifiers are greedy unless a ? follows them, says Flink's documentation, as the
# standard does. What comes out:
#
#     A B C       A B{1} C      2 matches, with one B each       right
#     A B{0,1} C  A B? C        4 matches, none with a B         those of B??: in each of them B would fit
#     A B?? C                   refused: reluctant optional variables are not supported yet
#     A B{0,2} C                no match at all                  though it allows all that B{0,1} allows
#     A B{1,2} C                no match at all                  though B{1} and B{2} have two matches each
#     A B{2} C                  2 matches, with two B each       right
#
# So who raises the upper bound of a loop from 1 to 2 loses every match, those with no B at all too, and nobody is told.
# (The row after a greedy loop with an upper bound may not satisfy B, even if the loop has reached its bound or has not
# begun; ? and {0,1} are made optional without being made greedy.)
#
# Needs Java 17 and Maven. Installs Flink 2.3.0 into a temporary folder. Fails if the matches are others than these.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
{
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>x</groupId><artifactId>x</artifactId><version>1</version><dependencies>'
    for artifact in flink-table-planner-loader flink-table-runtime flink-clients flink-cep flink-table-api-java-bridge \
        flink-connector-files flink-csv; do
        echo "<dependency><groupId>org.apache.flink</groupId><artifactId>$artifact</artifactId>"
        echo "<version>2.3.0</version></dependency>"
    done
    echo '</dependencies></project>'
} > "$work/pom.xml"
mvn -q -B -f "$work/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$work/lib"
second=0
for price in 12 17 19 21 16 14 13 15; do echo "$price,2026-01-01 00:00:0$((second++))"; done > "$work/prices.csv"
cat > "$work/Ask.java" <<'JAVA'
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

public class Ask {
    public static void main(String[] arguments) {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        tables.getConfig().set("table.exec.resource.default-parallelism", "1");
        tables.executeSql("CREATE TABLE prices (price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = "
            + "'filesystem', 'path' = '" + arguments[0] + "', 'format' = 'csv')");
        System.out.println("Flink " + TableEnvironment.class.getPackage().getImplementationVersion());
        for (String b : new String[] {"B", "B{1}", "B?", "B{0,1}", "B??", "B{0,2}", "B{1,2}", "B{2}"}) {
            System.out.println("A " + b + " C: " + matches(tables, b));
        }
        System.exit(0);
    }

    /** Each match as the price of A, the number of B's and the price of C, or the reason of a refusal. */
    static String matches(TableEnvironment tables, String b) {
        List<String> found = new ArrayList<>();
        try (CloseableIterator<Row> rows = tables.executeSql("SELECT * FROM prices MATCH_RECOGNIZE (ORDER BY ts "
            + "MEASURES A.price AS a, COUNT(B.price) AS n, C.price AS c AFTER MATCH SKIP PAST LAST ROW "
            + "PATTERN (A " + b + " C) DEFINE A AS A.price > 10, B AS B.price > 12, C AS C.price > 13)").collect()) {
            rows.forEachRemaining(row -> found.add(row.getField(0) + "-" + row.getField(1) + "-" + row.getField(2)));
        } catch (Exception e) {
            Throwable cause = e;
            while (cause.getCause() != null) cause = cause.getCause();
            return "refused: " + cause.getMessage();
        }
        return found.isEmpty() ? "no match" : String.join(" ", found);
    }
}
JAVA
java --add-opens java.base/java.util=ALL-UNNAMED --add-opens java.base/java.lang=ALL-UNNAMED -cp "$work/lib/*" \
    "$work/Ask.java" "$work/prices.csv" 2>/dev/null | tee "$work/out"
expect() { grep -qxF -- "$1" "$work/out" || { echo "CHANGED: expected '$1'"; exit 1; }; }
expect "A B C: 12-1-19 21-1-14"
expect "A B{1} C: 12-1-19 21-1-14"
expect "A B? C: 12-0-17 19-0-21 16-0-14 13-0-15"
expect "A B{0,1} C: 12-0-17 19-0-21 16-0-14 13-0-15"
expect "A B?? C: refused: Reluctant optional variables are not supported yet."
expect "A B{0,2} C: no match"
expect "A B{1,2} C: no match"
expect "A B{2} C: 12-2-21 16-2-15"
echo "As described: B{0,1} finds four matches and B{0,2} none; B? takes no row where it could, as the refused B?? would."
