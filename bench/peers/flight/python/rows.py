# SPDX-License-Identifier: Apache-2.0
"""The predecessor of Flight: rows over PostgreSQL's own protocol, as Python tuples (psycopg) or as
Arrow (ADBC).

rows.py load URI FILE writes an Arrow file into the table `taxi`; rows.py psycopg and rows.py adbc
are clients."""

import sys

import adbc_driver_postgresql
import adbc_driver_postgresql.dbapi as adbc
import psycopg
import pyarrow as pa

import harness

QUERY = "SELECT * FROM taxi"


def load(uri, path):
    with adbc.connect(uri) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("taxi", pa.ipc.open_file(path).read_all(), mode="replace")
        connection.commit()


def get_tuples(uri):
    with psycopg.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(QUERY)
        return [column.name for column in cursor.description], cursor.fetchall()


def tuples_as_table(result):
    names, rows = result
    return pa.table(dict(zip(names, map(list, zip(*rows)))))


def get_arrow(uri):
    with adbc.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(QUERY)
        return cursor.fetch_arrow_table()


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "psycopg":
        version = f"psycopg {psycopg.__version__}"
        harness.serve_commands(get_tuples, version, tuples_as_table, lambda result: len(result[1]))
    else:
        harness.serve_commands(get_arrow, f"ADBC {adbc_driver_postgresql.__version__}")
