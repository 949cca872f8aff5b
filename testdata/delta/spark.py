# SPDX-License-Identifier: Apache-2.0
"""Makes the tables here that Delta Lake itself writes, with the rows that Spark reads from them in
`rows.parquet` of each.

    pip install pyspark==4.0.1
    python spark.py FOLDER JARS

JARS: io.delta:delta-spark_2.13:4.0.0 and io.delta:delta-storage:4.0.0, with a comma between.
"""

import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession

TARGET, JARS = Path(sys.argv[1]), sys.argv[2]
EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", JARS)
    .config("spark.sql.extensions", EXTENSION)
    .config("spark.sql.catalog.spark_catalog", CATALOG)
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)


def start(name):
    shutil.rmtree(TARGET / name, ignore_errors=True)
    return f"delta.`{TARGET / name}`"


def finish(name):
    folder = TARGET / name
    written = TARGET / "written"
    rows = spark.read.format("delta").load(str(folder)).coalesce(1)
    rows.write.mode("overwrite").parquet(str(written))
    shutil.copy(next(written.glob("*.parquet")), folder / "_rows.parquet")
    shutil.rmtree(written)
    for checksum in [*folder.rglob("*.crc"), *folder.rglob(".*.crc")]:
        checksum.unlink(missing_ok=True)


def mapped(mode):
    """Columns and fields renamed, dropped and added, at every depth."""
    table = start(f"mapped-{mode}")
    spark.sql(f"""
        create table {table} (id long, name string, s struct<a:int, b:string, c:int>,
            l array<struct<x:int, y:int>>, m map<string, struct<v:int>>, gone int, p string)
        using delta partitioned by (p) tblproperties ('delta.columnMapping.mode'='{mode}',
            'delta.minReaderVersion'='2', 'delta.minWriterVersion'='5')""")
    spark.sql(f"""
        insert into {table} select id, concat('n', id),
            struct(cast(id as int) as a, concat('b', id) as b, 7 as c),
            array(struct(1 as x, 2 as y), struct(cast(id as int) as x, 5 as y)),
            map('k', struct(cast(id as int) as v)), 9, if(id % 2 = 0, 'even', 'a b')
        from range(6)""")
    for change in [
        "rename column name to `full name`",
        "rename column s.a to z",
        "drop column s.b",
        "rename column l.element.x to w",
        "rename column m.value.v to u",
        "drop column gone",
        "rename column p to part",
        "add columns (gone string, s.d string after z, l.element.n int)",
    ]:
        spark.sql(f"alter table {table} {change}")
    spark.sql(f"""
        insert into {table} (id, `full name`, s, l, m, part, gone) select id, concat('N', id),
            struct(cast(id as int) as z, 'd' as d, 8 as c), array(struct(3 as w, 4 as y, 6 as n)),
            map('k', struct(cast(id as int) as u)), 'even', 'again'
        from range(10, 14)""")
    spark.sql(f"alter table {table} rename column id to key")
    finish(f"mapped-{mode}")


def widened():
    """Types that were narrower before."""
    table = start("widened")
    spark.sql(f"""
        create table {table} (b byte, i int, f float, d decimal(5,2), n int, day date,
            s struct<x:int>, l array<short>)
        using delta tblproperties ('delta.enableTypeWidening'='true',
            'delta.feature.timestampNtz'='supported')""")
    spark.sql(f"""
        insert into {table} values
            (1, 2, 1.5, 3.25, 4, date'2024-01-02', struct(5), array(6s)),
            (-128, -2147483648, -0.5, -999.99, 2147483647, date'1969-12-31', struct(-5),
                array(-6s, null)),
            (null, null, null, null, null, null, null, null)""")
    spark.sql(f"alter table {table} change column b type int")
    spark.sql(f"""
        insert into {table} values
            (100000, 2, 1.5, 3.25, 4, date'2024-01-02', struct(5), array(6s))""")
    for column, wider in [
        ("b", "long"),
        ("i", "long"),
        ("f", "double"),
        ("d", "decimal(12,4)"),
        ("n", "decimal(12,1)"),
        ("day", "timestamp_ntz"),
        ("s.x", "long"),
        ("l.element", "int"),
    ]:
        spark.sql(f"alter table {table} change column {column} type {wider}")
    spark.sql(f"""
        insert into {table} values (10000000000, 20000000000, 1.25e300, 12345678.1234,
            12345678901.5, timestamp_ntz'2024-05-06 07:08:09.5', struct(50000000000),
            array(600000))""")
    finish("widened")


def sidecars(form):
    """A checkpoint of version 2, and no commits before it."""
    name = f"sidecars-{form}"
    table = start(name)
    spark.conf.set("spark.databricks.delta.checkpointV2.topLevelFileFormat", form)
    spark.sql(f"""
        create table {table} (id long, p int) using delta partitioned by (p)
        tblproperties ('delta.checkpointPolicy'='v2', 'delta.checkpointInterval'='3')""")
    for n in range(4):
        spark.sql(f"insert into {table} select id + {n * 10}, {n % 2} from range(3)")
    spark.sql(f"delete from {table} where p = 1 and id > 30")
    finish(name)
    log = TARGET / name / "_delta_log"
    for version in range(3):
        (log / f"{version:020}.json").unlink()


for mode in ["name", "id"]:
    mapped(mode)
widened()
for form in ["json", "parquet"]:
    sidecars(form)
