"""The examples of this folder as calls on DataFrames: a function for each file, whose arguments are its tables.

The rows are those of the file. Not here are the files that need two clauses at once, or whose point is a statement."""

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import sqlext


def v_shape(ticker: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        ticker,
        partition_by="symbol",
        order_by="day",
        pattern="start down+ up+",
        define={
            "down": "price < PREV(price)",
            "up": "price > PREV(price)",
        },
        measures={
            "fell_from": "start.day",
            "bottom_on": "LAST(down.day)",
            "rose_until": "LAST(up.day)",
            "fell": "start.price - LAST(down.price)",
            "rose": "LAST(up.price) - LAST(down.price)",
        },
        after_match="SKIP TO LAST up",
    )


def double_bottom(ticker: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        ticker,
        partition_by="symbol",
        order_by="day",
        pattern="start down+ up+ dip+ rise* breakout",
        define={
            "down": "price < PREV(price)",
            "up": "price > PREV(price)",
            "dip": "price < PREV(price)",
            "rise": "price > PREV(price) AND price <= LAST(up.price)",
            "breakout": "price > LAST(up.price) AND abs(LAST(dip.price) - LAST(down.price)) <= 0.03 * LAST(down.price)",
        },
        measures={
            "first_low": "LAST(down.price)",
            "peak": "LAST(up.price)",
            "second_low": "LAST(dip.price)",
            "broke_out_on": "breakout.day",
            "at_price": "breakout.price",
        },
    )


def sessions(clicks: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        clicks,
        partition_by="user",
        order_by="at",
        pattern="first_click next_click*",
        define={
            "next_click": "at <= PREV(at) + INTERVAL 30 MINUTES",
        },
        measures={
            "session": "MATCH_NUMBER()",
            "began": "FIRST(at)",
            "ended": "LAST(at)",
            "clicks": "COUNT(*)",
            "pages": "COUNT(DISTINCT page)",
        },
    )


def funnel(shop: DataFrame) -> DataFrame:
    return (
        sqlext.match_recognize(
            shop,
            partition_by="visitor",
            order_by="at",
            pattern="view (other*? cart (other*? buy)?)?",
            within="INTERVAL 1 HOUR",
            define={
                "view": "action = 'view'",
                "cart": "action = 'cart'",
                "buy": "action = 'buy'",
            },
            measures={
                "reached": "CASE WHEN buy.at IS NOT NULL THEN 'bought' WHEN cart.at IS NOT NULL THEN 'cart' "
                "ELSE 'viewed' END",
                "minutes": "timestampdiff(MINUTE, view.at, LAST(at))",
            },
        )
        .groupBy("reached")
        .agg(F.count("*").alias("visits"), F.max("minutes").alias("slowest_minutes"))
    )


def card_testing(charges: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        charges,
        partition_by="card",
        order_by="at",
        pattern="probe{2,} strike",
        within="INTERVAL 10 MINUTES",
        define={
            "probe": "amount < 5",
            "strike": "amount >= 100 * MAX(probe.amount)",
        },
        measures={
            "role": "CLASSIFIER()",
        },
        rows_per_match="ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    ).select("card", "at", "amount", "role")


def failed_logins(events: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        events,
        partition_by="account",
        order_by="at",
        pattern="failed{3,} other*? changed",
        within="INTERVAL 10 MINUTES",
        define={
            "failed": "event = 'login failed'",
            "changed": "event = 'password changed'",
        },
        measures={
            "failing_since": "FIRST(failed.at)",
            "changed_at": "changed.at",
            "failures": "COUNT(failed.at)",
        },
    )


def cold_chain(readings: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        readings,
        partition_by="container",
        order_by="at",
        pattern="warm+ spoiled",
        define={
            "warm": "celsius > 8",
            "spoiled": "celsius > 8 AND at >= FIRST(warm.at + INTERVAL 30 MINUTES)",
        },
        measures={
            "minutes_so_far": "timestampdiff(MINUTE, FIRST(at), LAST(at))",
            "peak": "FINAL MAX(celsius)",
        },
        rows_per_match="ALL ROWS PER MATCH",
    ).select("container", "at", "celsius", "minutes_so_far", "peak")


def scd_periods(versions: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        versions,
        partition_by=["customer", "tier"],
        order_by=["valid_from", "valid_to"],
        pattern="linked* latest",
        define={
            "linked": "NEXT(valid_from) <= MAX(valid_to)",
        },
        measures={
            "valid_from": "FIRST(valid_from)",
            "valid_to": "MAX(valid_to)",
            "versions": "COUNT(*)",
        },
    ).selectExpr(
        "*", "datediff(valid_from, lag(valid_to) OVER (PARTITION BY customer ORDER BY valid_from)) AS gap_days"
    )


def landing(positions: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        positions,
        partition_by="callsign",
        order_by="at",
        pattern="approach+ (landed | go_around{2})",
        subset={"ending": ["landed", "go_around"]},
        define={
            "approach": "altitude_ft > 364 AND altitude_ft < 4000 AND altitude_ft <= PREV(altitude_ft)",
            "landed": "altitude_ft <= 364",
            "go_around": "altitude_ft > PREV(altitude_ft)",
        },
        measures={
            "approach_from": "FIRST(approach.at)",
            "lowest_ft": "MIN(approach.altitude_ft)",
            "ended_at": "LAST(at)",
            "ending": "CLASSIFIER(ending)",
        },
    )


def bin_packing(parcels: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        parcels,
        order_by="parcel_id",
        pattern="parcel+",
        define={
            "parcel": "SUM(parcel.kg) <= 20",
        },
        measures={
            "truck": "MATCH_NUMBER()",
            "loaded_kg": "SUM(kg)",
        },
        rows_per_match="ALL ROWS PER MATCH",
    ).select("parcel_id", "kg", "truck", "loaded_kg")


def permute(files: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        files,
        partition_by="applicant",
        order_by="day",
        pattern="PERMUTE(identity, income, address) approval",
        subset={"paper": ["identity", "income", "address"]},
        define={
            "identity": "event = 'identity'",
            "income": "event = 'income'",
            "address": "event = 'address'",
            "approval": "event = 'approval'",
        },
        measures={
            "first_paper_on": "FIRST(paper.day)",
            "came_last": "CLASSIFIER(paper)",
            "approved_on": "approval.day",
        },
    )


def exclusion(log: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        log,
        partition_by="machine",
        order_by="at",
        pattern="warning {- chatter* -} failure",
        define={
            "warning": "level = 'warning'",
            "chatter": "level = 'info'",
            "failure": "level = 'error'",
        },
        measures={
            "line": "CLASSIFIER()",
            "left_out": "FINAL COUNT(chatter.*)",
        },
        rows_per_match="ALL ROWS PER MATCH",
    ).select("machine", "at", "line", "left_out", "message")


def gone_silent(payments: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        payments,
        partition_by="customer",
        order_by="month",
        pattern="paid? missed{2,} $",
        define={
            "paid": "status = 'paid'",
            "missed": "status = 'missed'",
        },
        measures={
            "last_paid": "paid.month",
            "missed": "COUNT(missed.month)",
        },
    )


def brute_force(events: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        events,
        partition_by="account",
        order_by="at",
        pattern="failed (-> failed){2,} !-> reset -> success",
        within="INTERVAL 10 MINUTES",
        define={
            "failed": "event = 'login failed'",
            "reset": "event = 'password reset'",
            "success": "event = 'login'",
        },
        measures={
            "failing_since": "FIRST(failed.at)",
            "succeeded_at": "success.at",
            "events": "COUNT(*)",
        },
    )


def abandoned_cart(clicks: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        clicks,
        partition_by="customer",
        order_by="at",
        pattern="put !-> buy",
        within="INTERVAL 1 HOUR",
        define={
            "put": "action = 'put'",
            "buy": "action = 'buy'",
        },
        measures={
            "put_at": "put.at",
            "article": "put.article",
        },
    )


def rising_readings(readings: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        readings,
        partition_by="sensor",
        order_by="at",
        pattern="low (-> higher){2}",
        within="INTERVAL 5 MINUTES BETWEEN ROWS",
        define={
            "higher": "higher.degrees > LAST(degrees, 1)",
        },
        measures={
            "readings": "array_agg(degrees)",
            "minutes": "timestampdiff(MINUTE, FIRST(low.at), LAST(at))",
        },
    ).selectExpr("sensor", "to_json(readings) AS readings", "minutes")


def money_laundering(transfers: DataFrame) -> DataFrame:
    return sqlext.match_recognize(
        transfers,
        partition_by="account",
        order_by="at",
        pattern="received (->> piece)* ->> last_piece",
        within="INTERVAL 1 DAY",
        subset={"outgoing": ["piece", "last_piece"]},
        define={
            "received": "kind = 'in'",
            "piece": "kind = 'out' AND SUM(outgoing.amount) < received.amount",
            "last_piece": "kind = 'out' AND SUM(outgoing.amount) = received.amount",
        },
        measures={
            "n": "MATCH_NUMBER()",
            "received": "received.amount",
            "pieces": "array_agg(outgoing.amount)",
        },
        after_match="NO SKIP",
    ).selectExpr("account", "n", "received", "to_json(pieces) AS pieces")


def flights_weather(flights: DataFrame, reports: DataFrame) -> DataFrame:
    joined = sqlext.asof_join(
        flights,
        reports.withColumnRenamed("at", "reported"),
        left_on="departed",
        right_on="reported",
        by="origin",
        tolerance="INTERVAL 2 HOURS",
    )
    return joined.select("origin", "flight", "departed", "reported", "wind_mph", "miles")


def orders_shipments(orders: DataFrame, shipments: DataFrame) -> DataFrame:
    joined = sqlext.interval_join(
        orders,
        shipments,
        left_on="ordered",
        right_on="shipped",
        by="order_id",
        lower=timedelta(0),
        upper=timedelta(days=2),
        how="left",
    )
    return joined.selectExpr("order_id", "ordered", "parcel", "timestampdiff(HOUR, ordered, shipped) AS hours")


def session_analytics(clicks: DataFrame) -> DataFrame:
    visits = sqlext.windows(
        clicks,
        "session",
        on="ts",
        gap="INTERVAL 30 MINUTES",
        group_by="visitor",
        aggregates={
            "entry": "first(page)",
            "exit": "last(page)",
            "pages": "count(*)",
            "minutes": "timestampdiff(MINUTE, min(ts), max(ts))",
        },
        emit="AFTER WATERMARK",
    )
    return visits.groupBy("entry").agg(
        F.count("*").alias("visits"),
        F.median("pages").alias("median_pages"),
        F.median("minutes").alias("median_minutes"),
        F.count_if(F.col("exit") == "/checkout").alias("bought"),
    )


def every_hundredth(readings: DataFrame) -> DataFrame:
    return sqlext.windows(
        readings,
        "global",
        group_by="sensor",
        aggregates={
            "events": "100 * window_firing",
            "seconds": "timestampdiff(SECOND, min(ts), max(ts))",
            "errors": "count_if(is_error)",
        },
        having="count(*) = 100",
        emit="EVERY 100 ROWS DISCARDING",
    ).select("sensor", "events", "seconds", "errors")


def sliding_count(trades: DataFrame) -> DataFrame:
    return sqlext.windows(
        trades,
        "global",
        group_by="symbol",
        aggregates={
            "at": "date_format(max(ts), 'HH:mm:ss')",
            "average": "avg(price)",
            "lowest": "min(price)",
            "highest": "max(price)",
            "trades": "count(*)",
        },
        having="window_timing = 'EARLY'",
        emit="EVERY 2 ROWS EVICT KEEP LAST 4 ROWS",
    ).select("symbol", "at", "average", "lowest", "highest", "trades")
