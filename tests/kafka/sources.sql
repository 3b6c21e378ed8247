# Tables of Kafka, read as streams and in batch. `$BROKER` is the address of the broker. Besides statements there are
# `TOPIC name partitions` and `PRODUCE name`, followed by one record a line: value, key, partition, at (milliseconds).

== from a topic by a pattern into a table, in SQL only
set sqlext.stream.trigger=available-now
TOPIC logins 2;
PRODUCE logins
{"partition": 0, "value": {"account": "ann", "ts": "2026-03-02T08:00:00Z", "success": false}}
{"partition": 0, "value": {"account": "ann", "ts": "2026-03-02T08:00:40Z", "success": false}}
{"partition": 0, "value": {"account": "ann", "ts": "2026-03-02T08:00:20Z", "success": false}}
{"partition": 1, "value": {"account": "bob", "ts": "2026-03-02T08:01:00Z", "success": false}}
{"partition": 0, "value": {"account": "ann", "ts": "2026-03-02T08:01:10Z", "success": true, "more": 1}}
{"partition": 1, "value": {"account": "bob", "ts": "2026-03-02T08:09:00Z", "success": true}};
CREATE TABLE logins (account STRING, ts TIMESTAMP, success BOOLEAN) USING kafka
  OPTIONS ('kafka.bootstrap.servers' = '$BROKER', subscribe = 'logins', 'value.format' = 'json');
CREATE STREAMING TABLE takeovers AS
SELECT * FROM STREAM logins WATERMARK ts DELAY OF INTERVAL 30 SECONDS
  MATCH_RECOGNIZE (PARTITION BY account ORDER BY ts MEASURES COUNT(*) AS n, LAST(partition) AS p
    PATTERN (FAILED{3,} OK) DEFINE FAILED AS NOT success, OK AS success);
SELECT * FROM takeovers
rows account:string,n:bigint,p:int
ann, 4, 0

PRODUCE logins
{"partition": 1, "value": {"account": "bob", "ts": "2026-03-02T08:10:00Z", "success": false}}
{"partition": 1, "value": {"account": "bob", "ts": "2026-03-02T08:10:01Z", "success": false}}
{"partition": 0, "value": {"account": "bob", "ts": "2026-03-02T08:10:02Z", "success": false}}
{"partition": 0, "value": {"account": "bob", "ts": "2026-03-02T08:10:03Z", "success": true}}
{"partition": 0, "value": {"account": "zed", "ts": "2026-03-02T08:20:00Z", "success": true}};
REFRESH STREAMING TABLE takeovers;
SELECT * FROM takeovers
rows account:string,n:bigint,p:int
ann, 4, 0
bob, 4, 0

SELECT account, n FROM logins MATCH_RECOGNIZE (PARTITION BY account ORDER BY ts MEASURES COUNT(*) AS n
    PATTERN (FAILED{3,} OK) DEFINE FAILED AS NOT success, OK AS success)
rows account:string,n:bigint
ann, 4
bob, 4

DROP TABLE logins;
SELECT * FROM logins
error
[TABLE_OR_VIEW_NOT_FOUND]

== a table of raw records, and what the catalog says of it
TOPIC raw_records 1;
PRODUCE raw_records
{"value": "one", "key": "k", "at": 1000, "headers": {"h": "x"}}
{"value": null, "key": "k", "at": 2000};
CREATE TABLE IF NOT EXISTS raw_records USING kafka COMMENT 'as they are'
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'raw_records');
SELECT CAST(key AS STRING) AS key, CAST(value AS STRING) AS value, topic, partition, offset, timestamp,
       headers[0].key AS h, CAST(headers[0].value AS STRING) AS v FROM raw_records
rows key:string,value:string,topic:string,partition:int,offset:bigint,timestamp:timestamp,h:string,v:string
k, one, raw_records, 0, 0, 1970-01-01 00:00:01, h, x
k, null, raw_records, 0, 1, 1970-01-01 00:00:02, null, null

SHOW TABLES LIKE 'raw_*'
rows namespace:string,tableName:string,isTemporary:boolean
default, raw_records, false

SHOW VIEWS LIKE 'raw_*'
rows namespace:string,viewName:string,isTemporary:boolean

DESCRIBE raw_records
rows col_name:string,data_type:string,comment:string
key, binary, null
value, binary, null
topic, string, null
partition, int, null
offset, bigint, null
timestamp, timestamp, null
timestampType, int, null
headers, array<struct<key:string,value:binary>>, null

CREATE TABLE raw_records USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'raw_records')
error
SQLEXT_TABLE_EXISTS: there is already a table or view raw_records
  1 | CREATE TABLE raw_records USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'raw_records')
    |              ^^^^^^^^^^^
Hint: DROP it first, or write CREATE OR REPLACE TABLE for a table of Kafka.

DROP VIEW raw_records
error
SQLEXT_VIEW_ALREADY_EXISTS: raw_records is a table, and no view

ALTER TABLE raw_records RENAME TO others
error
SQLEXT_KAFKA_TABLE: raw_records is a table of Kafka, which this statement cannot change

DELETE FROM raw_records WHERE offset = 1
error
SQLEXT_KAFKA_TABLE: raw_records is a table of Kafka, which this statement cannot change

CACHE TABLE raw_records
error
SQLEXT_KAFKA_TABLE: there is no CACHE TABLE for raw_records, a table of Kafka

== from and to offsets and times
TOPIC parts 2;
PRODUCE parts
{"partition": 0, "value": {"i": 1}, "at": 1772438400000}
{"partition": 0, "value": {"i": 2}, "at": 1772438401000}
{"partition": 0, "value": {"i": 3}, "at": 1772438402000}
{"partition": 1, "value": {"i": 4}, "at": 1772438401000}
{"partition": 1, "value": {"i": 5}, "at": 1772438403000};
CREATE TABLE parts (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', topic 'parts', 'value.format' 'json', minPartitions 3);
SELECT sort_array(collect_list(i)) AS i FROM parts
rows i:array<int>
[1, 2, 3, 4, 5]

SELECT sort_array(collect_list(p.i)) AS i
  FROM parts WITH (startingOffsets = '{"parts": {"0": 1, "1": -2}}', endingOffsets = '{"parts": {"0": -1, "1": 1}}') AS p
rows i:array<int>
[2, 3, 4]

SELECT sort_array(collect_list(parts.i)) AS i
  FROM parts WITH (startingTimestamp = '2026-03-02 08:00:01', endingTimestamp = 1772438403000)
rows i:array<int>
[2, 3, 4]

SELECT count(*) AS n FROM parts a JOIN parts WITH (startingTimestamp = '2026-03-02 08:00:01') b ON a.i = b.i
rows n:bigint
4

SELECT * FROM parts WITH (startingOffset = 'earliest')
error
SQLEXT_KAFKA_OPTION: a table of Kafka has no option startingOffset
  1 | SELECT * FROM parts WITH (startingOffset = 'earliest')
    |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: did you mean startingOffsets?

SELECT * FROM parts WITH (maxOffsetsPerTrigger = 3)
error
SQLEXT_KAFKA_OPTION: maxOffsetsPerTrigger is an option of a stream, and this is a batch query
  1 | SELECT * FROM parts WITH (maxOffsetsPerTrigger = 3)
    |                           ^^^^^^^^^^^^^^^^^^^^^^^^
Hint: leave it out.

SELECT * FROM parts WITH (subscribe = 'other', kafka.client.id = 'x')
error
SQLEXT_KAFKA_OPTION: subscribe belongs to the table
  1 | SELECT * FROM parts WITH (subscribe = 'other', kafka.client.id = 'x')
    |                           ^^^^^^^^^^^^^^^^^^^
Hint: write it in the OPTIONS of CREATE TABLE; a query may change where it begins and how it reads.

SELECT * FROM parts WITH (startingTimestamp = 'soon')
error
SQLEXT_KAFKA_OPTION: startingTimestamp is 'soon', which is no time
  1 | SELECT * FROM parts WITH (startingTimestamp = 'soon')
    |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: write a time such as '2026-03-02 08:00:00', or milliseconds since 1970.

== a stream begins where it says, and the same words resume it
set sqlext.stream.trigger=available-now
TOPIC begun 1;
PRODUCE begun
{"value": {"i": 1}}
{"value": {"i": 2}}
{"value": {"i": 3}};
CREATE TABLE begun (i INT) USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'begun', 'value.format' 'json');
CREATE TABLE sink (i INT);
INSERT INTO sink SELECT i FROM STREAM begun WITH (startingOffsets = '{"begun": {"0": 1}}', maxOffsetsPerTrigger = 1);
SELECT * FROM sink
rows i:int
2
3

PRODUCE begun
{"value": {"i": 4}};
INSERT INTO sink SELECT i FROM STREAM begun;
SELECT * FROM sink
rows i:int
2
3
4

CREATE OR REPLACE TABLE begun (i INT, added STRING) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'begun', 'value.format' 'json', failOnDataLoss false);
PRODUCE begun
{"value": {"i": 5, "added": "x"}};
INSERT INTO sink SELECT i FROM STREAM begun;
SELECT max(i) AS i, count(*) AS n FROM sink
rows i:int,n:bigint
5, 4

TOPIC also_begun 1;
CREATE OR REPLACE TABLE begun (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'begun,also_begun', 'value.format' 'json');
INSERT INTO sink SELECT i FROM STREAM begun
error
SQLEXT_CHANGED_QUERY: the table begun means something else than when the checkpoint was written: subscribe = begun; now: subscribe = also_begun,begun

CREATE OR REPLACE TABLE begun (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'begun', 'value.format' 'json', endingOffsets 'latest');
INSERT INTO sink SELECT i FROM STREAM begun
error
SQLEXT_KAFKA_OPTION: begun has endingOffsets, and a stream has no end
  1 | INSERT INTO sink SELECT i FROM STREAM begun
    |                                       ^^^^^
Hint: leave it out of the OPTIONS of the table, and write it where a batch query reads the table: begun WITH (endingOffsets = …).

CREATE OR REPLACE TABLE begun (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'begun', 'value.format' 'json', startingOffsets 'latest');
SELECT count(*) AS n FROM begun
rows n:bigint
5

SELECT * FROM begun WITH (startingOffsets = 'latest')
error
SQLEXT_KAFKA_OPTION: a batch query that begins at the latest offsets has no rows
  1 | SELECT * FROM begun WITH (startingOffsets = 'latest')
    |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: leave it out.

== values that cannot be read are kept, with the reason
set sqlext.stream.trigger=available-now
set sqlext.failed_values=unread
TOPIC broken 1;
PRODUCE broken
{"value": {"i": 1, "at": "2026-03-02T08:00:00Z"}}
{"value": "{broken", "key": "k"}
{"value": null}
{"value": {"i": "two", "at": "yesterday"}}
{"value": [1]}
{"value": ""}
{"value": "null"}
{"value": {"i": 3}};
CREATE TABLE broken (i INT, at TIMESTAMP) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'broken', 'value.format' 'json');
CREATE STREAMING TABLE read AS SELECT i, at, offset FROM STREAM broken;
SELECT * FROM read
rows i:int,at:timestamp,offset:bigint
1, 2026-03-02 08:00:00, 0
null, null, 2
3, null, 7

SELECT topic, partition, offset, reason, CAST(key AS STRING) AS key, CAST(value AS STRING) AS value FROM unread
rows topic:string,partition:int,offset:bigint,reason:string,key:string,value:string
broken, 0, 1, the value is not JSON, k, {broken
broken, 0, 3, i is no INT: two; at is no TIMESTAMP: yesterday, null, {"i": "two", "at": "yesterday"}
broken, 0, 4, the value is not a JSON object, null, [1]
broken, 0, 5, the value is not JSON, null, 
broken, 0, 6, the value is not a JSON object, null, null

SELECT i FROM broken
rows i:int
1
3
null

PRODUCE broken
{"value": "{again"};
REFRESH STREAMING TABLE read;
SELECT count(*) AS n, max(offset) AS last FROM unread
rows n:bigint,last:bigint
6, 8

== the columns of JSON are inferred once and kept
TOPIC inferred 1;
CREATE TABLE inferred USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'inferred', 'value.format' 'json')
error
SQLEXT_KAFKA_OPTION: the topic has no JSON object yet, from which the columns could be inferred
  1 | CREATE TABLE inferred USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'inferred', 'value.format' 'json')
    |                                                                                                             ^^^^^^^^^^^^^^^^^^^^^
Hint: write the columns of the values: CREATE TABLE inferred (name type, …) USING kafka ….

PRODUCE inferred
{"value": {"i": 1, "s": {"a": ["x"]}}}
{"value": "{broken"}
{"value": {"i": 2.5, "t": "u"}};
CREATE TABLE inferred USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'inferred', 'value.format' 'json');
PRODUCE inferred
{"value": {"i": 3, "later": true}};
SELECT i, s, t FROM inferred
rows i:double,s:struct<a:array<string>>,t:string
1.0, {[x]}, null
2.5, null, u
3.0, null, null

SELECT later FROM inferred
error
SQLEXT_UNRESOLVED_COLUMN_WITH_SUGGESTION

== a field with the name of a column of the record hides it
TOPIC hidden 1;
PRODUCE hidden
{"value": {"timestamp": "2026-03-02T08:00:00Z", "Key": "of the value"}, "key": "of the record"};
CREATE TABLE hidden (timestamp TIMESTAMP, Key STRING) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'hidden', 'value.format' 'json');
SELECT timestamp, key, offset FROM hidden
rows timestamp:timestamp,key:string,offset:bigint
2026-03-02 08:00:00, of the value, 0

== windows with EMIT, and an upsert
set sqlext.stream.trigger=available-now
TOPIC calls 1;
PRODUCE calls
{"value": {"k": "a", "v": 1}, "at": 1772438400000}
{"value": {"k": "a", "v": 2}, "at": 1772438401000}
{"value": {"k": "b", "v": 4}, "at": 1772438402000}
{"value": {"k": "a", "v": 8}, "at": 1772438471000};
CREATE TABLE calls (k STRING, v INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'calls', 'value.format' 'json');
CREATE STREAMING TABLE minutes UPSERT KEY (k, start) AS
SELECT k, window_start AS start, sum(v) AS v
  FROM TUMBLE(TABLE STREAM calls WATERMARK timestamp DELAY OF INTERVAL 5 SECONDS, DESCRIPTOR(timestamp), INTERVAL '1' MINUTE)
 GROUP BY k, window_start, window_end EMIT AFTER WATERMARK;
SELECT k, v FROM minutes
rows k:string,v:bigint
a, 3
b, 4

== two topics in an INTERVAL JOIN, and an ASOF JOIN, also of a view
set sqlext.stream.trigger=available-now
TOPIC orders 1;
TOPIC paid 1;
PRODUCE orders
{"value": {"id": 1, "ts": "2026-03-02T08:00:00Z"}}
{"value": {"id": 2, "ts": "2026-03-02T08:00:05Z"}}
{"value": {"id": 9, "ts": "2026-03-02T09:00:00Z"}};
PRODUCE paid
{"value": {"id": 1, "ts": "2026-03-02T08:00:20Z"}}
{"value": {"id": 2, "ts": "2026-03-02T08:10:00Z"}}
{"value": {"id": 9, "ts": "2026-03-02T09:10:00Z"}};
CREATE TABLE orders (id INT, ts TIMESTAMP) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'orders', 'value.format' 'json');
CREATE TABLE paid (id INT, ts TIMESTAMP) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'paid', 'value.format' 'json');
CREATE STREAMING TABLE joined AS
SELECT o.id, unix_seconds(p.ts) - unix_seconds(o.ts) AS after
  FROM STREAM orders WATERMARK ts DELAY OF INTERVAL 1 SECOND AS o
  INTERVAL JOIN STREAM paid WATERMARK ts DELAY OF INTERVAL 1 SECOND AS p
    ON o.id = p.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 MINUTE;
SELECT * FROM joined
rows id:int,after:bigint
1, 20

CREATE VIEW first_hour AS SELECT * FROM orders ASOF JOIN paid MATCH_CONDITION (paid.ts >= orders.ts) ON orders.id = paid.id;
SELECT count(*) AS n FROM first_hour
rows n:bigint
3

CREATE VIEW numbered AS SELECT id, ts FROM STREAM orders;
CREATE STREAMING TABLE through AS SELECT id FROM numbered;
SELECT id FROM through
rows id:int
1
2
9

== avro by the text of its schema
set sqlext.stream.trigger=available-now
set sqlext.failed_values=unread
TOPIC measured 1;
PRODUCE measured
{"avro": [7, "x"]}
{"value": "no"}
{"value": null}
{"avro": [-1, null]};
CREATE TABLE measured USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'measured', 'value.format' 'avro', 'value.schema' =
    '{"type": "record", "name": "m", "fields": [{"name": "i", "type": "long"}, {"name": "s", "type": ["null", "string"]}]}');
CREATE STREAMING TABLE read AS SELECT i, s, offset FROM STREAM measured;
SELECT * FROM read
rows i:bigint,s:string,offset:bigint
7, x, 0
null, null, 2
-1, null, 3

SELECT offset, reason FROM unread
rows offset:bigint,reason:string
1, the value is not Avro of the schema

CREATE TABLE other USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'measured', 'value.format' 'avro', 'value.schema' '{"type": "recor"}')
error
SQLEXT_KAFKA_OPTION: Avro refuses the schema

== avro as serializers of a schema registry write it
set sqlext.stream.trigger=available-now
TOPIC registered 1;
PRODUCE registered
{"avro": [7, "x"], "schema": 3}
{"avro": [-1, null], "schema": 3}
{"value": "no"}
{"value": null}
{"avro": [9, "y"], "schema": 4}
{"value": {"i": 5, "s": "z"}, "schema": 7};
CREATE TABLE registered USING kafka OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'registered');
CREATE VIEW measured_3 AS
SELECT v.*, offset
  FROM (SELECT offset, from_avro(substring(value, 6), '{"type": "record", "name": "m", "fields": [
                 {"name": "i", "type": "long"}, {"name": "s", "type": ["null", "string"]}]}', map('mode', 'PERMISSIVE')) AS v
          FROM STREAM registered
         WHERE substring(value, 1, 5) = X'0000000003');
CREATE STREAMING TABLE read AS SELECT i, s, offset FROM measured_3;
SELECT * FROM read
rows i:bigint,s:string,offset:bigint
7, x, 0
-1, null, 1

SELECT v.*
  FROM (SELECT from_json(CAST(substring(value, 6) AS STRING), 'i BIGINT, s STRING') AS v
          FROM registered
         WHERE substring(value, 1, 5) = X'0000000007')
rows i:bigint,s:string
5, z

CREATE TABLE misread USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'registered', 'value.format' 'avro', 'value.schema' =
    '{"type": "record", "name": "m", "fields": [{"name": "i", "type": "long"}, {"name": "s", "type": ["null", "string"]}]}');
SELECT i, s, offset FROM misread ORDER BY offset
rows i:bigint,s:string,offset:bigint
0, null, 0
0, null, 1
null, null, 3
0, null, 4
0, null, 5

== brokers that do not answer, and topics that do not exist
TOPIC there 1;
CREATE TABLE silent (i INT) USING kafka OPTIONS (kafka.bootstrap.servers '127.0.0.1:1', topic 'there',
  'value.format' 'json', 'kafka.request.timeout.ms' 200, 'kafka.default.api.timeout.ms' 200);
SELECT i FROM silent
error
SQLEXT_KAFKA_BROKER: no broker answers at 127.0.0.1:1, where silent has its topics
  1 | SELECT i FROM silent
    |               ^^^^^^
Hint: check 'kafka.bootstrap.servers' of the table, and that the driver and the executors reach this address.

CREATE STREAMING TABLE read AS SELECT i FROM STREAM silent
error
SQLEXT_KAFKA_BROKER: no broker answers at 127.0.0.1:1, where silent has its topics
  1 | CREATE STREAMING TABLE read AS SELECT i FROM STREAM silent
    |                                                     ^^^^^^

SELECT * FROM read
error
[TABLE_OR_VIEW_NOT_FOUND]

INSERT INTO silent VALUES (1)
error
SQLEXT_KAFKA_BROKER: no broker answers at 127.0.0.1:1, where `silent` has its topics
  1 | INSERT INTO silent VALUES (1)
    |             ^^^^^^

CREATE TABLE also_silent USING kafka OPTIONS (kafka.bootstrap.servers 'h.invalid:1', subscribe 'there', 'value.format' 'json')
error
SQLEXT_KAFKA_BROKER: Kafka's client cannot use the options of also_silent for the brokers at h.invalid:1: No resolvable bootstrap urls given in bootstrap.servers

CREATE TABLE missing (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'missing', 'value.format' 'json');
SELECT i FROM missing
error
SQLEXT_KAFKA_TOPIC: the brokers at $BROKER have no topic missing, which missing reads
  1 | SELECT i FROM missing
    |               ^^^^^^^
Hint: create it, or name another one by CREATE OR REPLACE TABLE.

CREATE VIEW of_missing AS SELECT i FROM missing;
CREATE STREAMING TABLE read AS SELECT i FROM STREAM missing
error
SQLEXT_KAFKA_TOPIC: the brokers at $BROKER have no topic missing, which missing reads

CREATE OR REPLACE TABLE missing (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribe 'there, missing', 'value.format' 'json');
SELECT i FROM of_missing
error
SQLEXT_KAFKA_TOPIC: the brokers at $BROKER have not all of the topics there, missing, which missing reads

CREATE OR REPLACE TABLE missing (i INT) USING kafka
  OPTIONS (kafka.bootstrap.servers '$BROKER', subscribePattern 'missing.*', 'value.format' 'json');
SELECT i FROM missing
rows i:int

== errors of CREATE TABLE
CREATE TABLE e (a INTT) USING kafka OPTIONS (kafka.bootstrap.servers 'h:9092', subscribe 'a', 'value.format' 'json')
error
SQLEXT_UNSUPPORTED_DATATYPE

CREATE TABLE e USING kafka OPTIONS (kafka.bootstrap.servers 'h:9092', subscribe 'a',
  'kafka.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";')
error
SQLEXT_KAFKA_SECRET: kafka.sasl.jaas.config would be a secret in the catalog, which everybody who reads the table sees
  2 |   'kafka.sasl.jaas.config' = '********************
