# SPDX-License-Identifier: Apache-2.0
"""The session of `arrowsmith bench spark`: Spark's own readers and Arrowsmith's, by turns.

queries.py --input FILE --folder DIR --threads N reports that it is ready, and answers every line on
its standard input, a JSON object: `reader` (`spark`, `arrowsmith`), `format` (`json`, or `parquet`:
files that Spark makes of the input in `DIR/parquet`), `query` (below), and `check`: whether totals
of the result are wanted instead of the time. A plan with another reader than that is an error.

| query | what is timed |
| -- | -- |
| `schema` | the schema of `spark.read.json` |
| `script` | the same, and all rows of all columns |
| `rows` | all rows of all columns, with the schema given for JSON |
| `aggregates` | one aggregate of each column |
| `one` | the first of these |
| `count` | `count(*)` |
"""

import argparse
import json
import os
import sys
import time
import zlib
from pathlib import Path

from pyspark.sql import SparkSession

from arrowsmith import __version__
from arrowsmith.spark import configure


class Session:
    def __init__(self, path, threads, folder):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = SparkSession.builder.master(f"local[{threads}]")
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "3g",
            "spark.local.dir": f"{folder}/local",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = configure(builder).getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")
        self.path = path
        self.parquet = f"{folder}/parquet"
        self.use("spark")
        self.schema = self.spark.read.json(path).schema

    def use(self, reader):
        for format in ("json", "parquet"):
            name = f"spark.arrowsmith.{format}.enabled"
            self.spark.conf.set(name, str(reader == "arrowsmith").lower())

    def read(self, format, query):
        if format == "parquet":
            return self.spark.read.parquet(self.parquet)
        read = self.spark.read
        return (read if query == "script" else read.schema(self.schema)).json(self.path)

    def frame(self, format, query):
        frame = self.read(format, query)
        sums = [sum for field in self.schema if (sum := aggregate(field))]
        expressions = {"aggregates": sums, "one": sums[:1], "count": ["count(*)"]}
        return frame.selectExpr(*expressions[query]) if query in expressions else frame

    def answer(self, reader, format, query, check):
        if format == "parquet" and not os.path.exists(self.parquet):
            self.use("spark")
            self.read("json", "rows").write.parquet(self.parquet)
        self.use(reader)
        if check:
            return self.totals(reader, format, query)
        return self.timed(reader, format, query)

    def timed(self, reader, format, query):
        cpu, start = self.cpu_seconds(), time.perf_counter()
        if query == "schema":
            _ = self.spark.read.json(self.path).schema
        else:
            frame = self.frame(format, query)
            if query in ("rows", "script"):
                frame.write.format("noop").mode("overwrite").save()
            else:
                frame.collect()
        seconds, cpu = time.perf_counter() - start, self.cpu_seconds() - cpu
        if query != "schema":
            plan_of(frame, reader)
        peak_rss_mb = self.status("VmHWM") * 1024 / 1e6
        return {"seconds": seconds, "cpu_seconds": cpu, "rows": 0, "peak_rss_mb": peak_rss_mb}

    def totals(self, reader, format, query):
        if query == "schema":
            text = self.spark.read.json(self.path).schema.json()
            found = {"schema": (len(self.schema), zlib.crc32(text.encode()))}
        elif query in ("rows", "script"):
            frame = self.read(format, query)
            # Of every value of every column, in any order.
            columns = ", ".join(f"`{name}`" for name in frame.columns)
            frame = frame.selectExpr(
                "count(*)", f"sum(cast(xxhash64({columns}) as decimal(20, 0)))"
            )
            plan_of(frame, reader)
            found = {"rows": tuple(frame.first())}
        else:
            frame = self.frame(format, query)
            plan_of(frame, reader)
            row = frame.first()
            found = {str(i): (value is not None, value or 0) for i, value in enumerate(row)}
        check = {name: total(int(count), value) for name, (count, value) in found.items()}
        return {"seconds": 1, "rows": 0, "peak_rss_mb": 0, "check": check}

    def cpu_seconds(self):
        """Processor time of Spark's process."""
        fields = Path(f"/proc/{self.process()}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self, name):
        text = Path(f"/proc/{self.process()}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0])

    def process(self):
        return self.spark.sparkContext._gateway.proc.pid


def aggregate(field):
    """An aggregate that does not depend on the order of the rows."""
    kind, name = field.dataType.typeName(), f"`{field.name}`"
    if kind == "struct":
        return f"count({name}.`{field.dataType.fields[0].name}`)"
    forms = {
        "long": "sum(cast({} as decimal(20, 0)))",
        "double": "max({})",
        "string": "sum(length({}))",
        "boolean": "count_if({})",
        "array": "sum(size({}))",
    }
    return forms[kind].format(name) if kind in forms else None


def plan_of(frame, reader):
    plan = frame._jdf.queryExecution().executedPlan().toString()
    if ("Format: Arrowsmith" in plan) != (reader == "arrowsmith"):
        raise RuntimeError(f"the plan does not have the reader of {reader}: {plan[:200]}")


def total(n, value):
    return {"n": n, "float": value} if isinstance(value, float) else {"n": n, "sum": str(value)}


def say(message):
    print(json.dumps(message), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    session = Session(options.input, options.threads, options.folder)
    version = f"arrowsmith {__version__} in Spark {session.spark.version}"
    say({"ready": True, "version": version})
    for line in sys.stdin:
        try:
            say(session.answer(**json.loads(line)))
        except Exception as error:
            say({"error": str(error).split("\n")[0][:300]})
    session.spark.stop()


if __name__ == "__main__":
    main()
