# SPDX-License-Identifier: Apache-2.0
"""Spark's own JSON reader: rows of a file, as `JsonPeer.java` reads it. Arguments: file, threads,
rounds, warm-up rounds.

Prints one JSON object. The schema is given, so that Spark reads once; rows go to a sink that
discards them.
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession

SCHEMA = (
    "timestamp string, timezone bigint, odometer bigint, hypermiling boolean, avgspeed bigint, "
    "sec_in_band array<bigint>, braking array<bigint>, accel array<bigint>, orientation boolean, "
    "small_speed_var array<bigint>, large_speed_var array<bigint>"
)


def main() -> None:
    """Reads repeatedly."""
    file, threads, rounds, before = sys.argv[1], *map(int, sys.argv[2:5])
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.schema(SCHEMA).json(file)
    rows = frame.count()
    total = frame.selectExpr("sum(odometer)").first()[0]
    seconds = []
    for turn in range(before + rounds):
        start = time.perf_counter()
        session.read.schema(SCHEMA).json(file).write.format("noop").mode("overwrite").save()
        if turn >= before:
            seconds.append(time.perf_counter() - start)
    answer = {
        "approach": "json-spark",
        "threads": threads,
        "bytes": os.path.getsize(file),
        "rows": rows,
        "sum": str(total),
        "seconds": seconds,
        "valid": rows > 0,
    }
    print(json.dumps(answer), flush=True)
    session.stop()


main()
