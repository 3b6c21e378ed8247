#!/usr/bin/env bash
# QuestDB 9.3.4: a row of another symbol, in the future, changes the partners of a SPLICE JOIN.
#
# SPLICE JOIN is the ASOF JOIN from both sides: each row of either table, with the row of the other table that prevails
# at its time, symbol by symbol. Trades of k at minutes 1 and 3 and quotes of k at minutes 2 and 4 give, as they should,
#
#     trade 1, no quote | trade 1, quote 2 | trade 3, quote 2 | trade 3, quote 4
#
# Now one trade of another symbol is added, at minute 9. Its own row is right. But the last pair of k, which was over at
# minute 4, becomes
#
#     trade 1, quote 4
#
# although trade 3 lies between the two. The same engine says so: `quotes ASOF JOIN trades`, which is that half of the
# SPLICE JOIN, still pairs quote 4 with trade 3. No error is raised. So a test with one symbol proves nothing about
# two.
#
# Needs Java 17 or later and Maven. Installs org.questdb:questdb:9.3.4 into a temporary folder and runs it embedded.
# Fails if the rows are others than these.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact=org.questdb:questdb:9.3.4 -DoutputDirectory="$work/lib"
cat > "$work/Ask.java" <<'JAVA'
import io.questdb.cairo.*;
import io.questdb.cairo.security.AllowAllSecurityContext;
import io.questdb.griffin.SqlExecutionContextImpl;
import io.questdb.std.str.StringSink;

public class Ask {
    public static void main(String[] arguments) throws Exception {
        try (CairoEngine engine = new CairoEngine(new DefaultCairoConfiguration(arguments[0]))) {
            SqlExecutionContextImpl context = new SqlExecutionContextImpl(engine, 1);
            context.with(AllowAllSecurityContext.INSTANCE, null);
            String splice = "SELECT t.k, t.x AS trade, q.k, q.y AS quote FROM trades t SPLICE JOIN quotes q ON (k)";
            for (String sql : new String[] {
                "CREATE TABLE trades (k SYMBOL, ts TIMESTAMP, x INT) TIMESTAMP(ts)",
                "CREATE TABLE quotes (k SYMBOL, ts TIMESTAMP, y INT) TIMESTAMP(ts)",
                "INSERT INTO trades VALUES ('k', '2026-01-01T00:01', 1), ('k', '2026-01-01T00:03', 3)",
                "INSERT INTO quotes VALUES ('k', '2026-01-01T00:02', 2), ('k', '2026-01-01T00:04', 4)",
                "SELECT build()",
                splice,
                "INSERT INTO trades VALUES ('j', '2026-01-01T00:09', 9)",
                splice,
                "SELECT t.k, t.x AS trade, q.k, q.y AS quote FROM quotes q ASOF JOIN trades t ON (k)",
            }) {
                System.out.println("> " + sql);
                if (!sql.startsWith("SELECT")) {
                    engine.execute(sql, context);
                    continue;
                }
                StringSink rows = new StringSink();
                engine.print(sql, rows, context);
                System.out.println(rows);
            }
        }
        System.exit(0);
    }
}
JAVA
mkdir "$work/db"
java -cp "$work/lib/questdb-9.3.4.jar" "$work/Ask.java" "$work/db" 2>/dev/null |
    grep -vE '^(20[0-9-]+T[0-9:.]+Z [A-Z] |Log configuration)' > "$work/out"
cat "$work/out"

# the pairs of trade and quote of one SELECT, in the order in which they were returned
pairs() { awk -v n="$1" '/^> SELECT t/ { at++; skip = 2 } at == n && NF && skip-- <= 0 && !/^>/ { print }' "$work/out" |
    awk -F'\t' '{ printf "%s%s/%s", sep, $2, $4; sep = " " }'; }
expect() { [ "$2" = "$3" ] || { echo "CHANGED: $1: expected '$3', got '$2'"; exit 1; }; }
expect "one symbol" "$(pairs 1)" "1/null 1/2 3/2 3/4"
expect "a later trade of another symbol" "$(pairs 2)" "1/null 1/2 3/2 1/4 9/null"
expect "the same half by ASOF JOIN" "$(pairs 3)" "1/2 3/4"
echo "As described: quote 4 is paired with trade 1, which trade 3 has replaced, because there is a trade of another symbol."
