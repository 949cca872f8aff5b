# SPDX-License-Identifier: Apache-2.0
"""The service against the clients that people have: pyarrow, the ADBC driver, and programs in Java, C++ and Go.

check.py SERVER [--java CLASSPATH] [--jdbc CLASSPATH] [--cpp PROGRAM] [--go PROGRAM]

Every client reads the same table and its own words about it are compared with what was written. A client that is not
given is skipped, and reported as skipped.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
ROWS = 30_000


def table() -> pa.Table:
    ids = range(ROWS)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "fare": pa.array([None if n % 7 == 0 else n / 4 for n in ids], pa.float64()),
            "zone": pa.array([None if n % 5 == 0 else f"zone {n % 7}" for n in ids], pa.string()),
            "kind": pa.array(["abc"[n % 3] for n in ids]).dictionary_encode(),
            "tags": pa.array([[n, n + 1][: n % 3] for n in ids], pa.list_(pa.int64())),
        }
    )


class Server:
    def __init__(self, program: str, *arguments: str):
        command = [program, "127.0.0.1:0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.address = self.url.split("://")[1]
        self.tcp = "grpc+tcp://" + self.address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def read(client, descriptor, options=None):
    info = client.get_flight_info(descriptor, options)
    tables = [client.do_get(endpoint.ticket, options).read_all() for endpoint in info.endpoints]
    return info, pa.concat_tables(tables)


def refused(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(f"{error} was expected")


def pyarrow(server: Server, expected: pa.Table):
    client = flight.connect(server.tcp)
    names = [info.descriptor.path[0].decode() for info in client.list_flights()]
    assert names == ["arrow", "trips", "views"], names
    for name in ["arrow", "trips"]:
        path = flight.FlightDescriptor.for_path(name)
        info, found = read(client, path)
        assert info.total_records == ROWS and len(info.endpoints) > 1, info
        assert client.get_schema(path).schema.names == expected.schema.names
        assert found.cast(expected.schema).equals(expected), name
        command = {"dataset": name, "columns": ["zone", "id"], "filter": "id >= 100 and zone = 'zone 3'", "limit": 50}
        command = flight.FlightDescriptor.for_command(json.dumps(command))
        _, found = read(client, command)
        mask = pc.and_(pc.greater_equal(expected["id"], 100), pc.equal(expected["zone"], "zone 3"))
        assert found.equals(expected.filter(mask).select(["zone", "id"]).slice(0, 50).combine_chunks()), found
    refused(pa.ArrowInvalid, lambda: client.do_get(flight.Ticket(b"../../etc/passwd")).read_all())
    refused(pa.ArrowKeyError, lambda: read(client, flight.FlightDescriptor.for_path("../trips")))
    assert {action.type for action in client.list_actions()} >= {"refresh", "health", "engines"}

    command = flight.FlightDescriptor.for_command(b'{"from": "json", "schema": "a: int64"}')
    writer, reader = client.do_exchange(command)
    with writer:
        writer.write_metadata(b'{"a": 1}\n{"a"')
        writer.write_metadata(b": 2}\n")
        writer.done_writing()
        assert reader.read_all().to_pydict() == {"a": [1, 2]}

    writer, answers = client.do_put(flight.FlightDescriptor.for_path("arrow"), expected.schema)
    writer.write_table(expected.slice(0, 10))
    writer.done_writing()
    assert json.loads(answers.read().to_pybytes())["rows"] == 10
    writer.close()
    assert read(client, flight.FlightDescriptor.for_path("arrow"))[1].num_rows == ROWS + 10


def passwords(program: str, folder: pathlib.Path):
    users = folder / "users"
    users.write_text("ada:love\n")
    with Server(program, f"trips={folder / 'trips'}/", "--users", str(users)) as server:
        client = flight.connect(server.tcp)
        path = flight.FlightDescriptor.for_path("trips")
        refused(flight.FlightUnauthenticatedError, lambda: client.get_flight_info(path))
        refused(flight.FlightUnauthenticatedError, lambda: client.authenticate_basic_token("ada", "hate"))
        options = flight.FlightCallOptions(headers=[client.authenticate_basic_token("ada", "love")])
        assert read(client, path, options)[1].num_rows == ROWS


def adbc(server: Server, expected: pa.Table):
    import adbc_driver_flightsql.dbapi as dbapi

    with dbapi.connect(server.tcp, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select * from trips order by id")
        found = cursor.fetch_arrow_table()
        assert found.select(["id", "fare", "zone", "tags"]).cast(
            expected.select(["id", "fare", "zone", "tags"]).schema
        ).equals(expected.select(["id", "fare", "zone", "tags"]))
        cursor.execute("select id from trips where id > ? and zone = ? order by id limit 3", (100, "zone 3"))
        assert cursor.fetchall() == [(101,), (108,), (122,)], cursor
        objects = connection.adbc_get_objects(depth="all").read_all().to_pylist()
        schemas = {schema["db_schema_name"]: schema for schema in objects[0]["catalog_db_schemas"]}
        tables = {table["table_name"]: table for table in schemas["public"]["db_schema_tables"]}
        assert set(tables) == {"arrow", "trips", "views"}
        assert [c["column_name"] for c in tables["trips"]["table_columns"]] == expected.schema.names
        assert connection.adbc_get_table_types() == ["TABLE"]
        assert connection.adbc_get_info()["vendor_name"] == "Arrowsmith"
        assert connection.adbc_get_table_schema("trips").names == expected.schema.names
        for statement in [
            "drop table trips",
            "insert into trips values (1)",
            "create external table x stored as csv location '/etc/passwd'",
            "copy trips to '/tmp/stolen.csv'",
            "select * from '/etc/passwd'",
            "set datafusion.execution.batch_size = 1",
        ]:
            refused(dbapi.Error, lambda: (cursor.execute(statement), cursor.fetchall()))


def program(name: str, command: list[str], expected: pa.Table):
    """A client that prints rows, the sum of ids and the number of null zones."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    words = f"{ROWS} {pc.sum(expected['id']).as_py()} {expected['zone'].null_count}"
    assert done.returncode == 0 and words in done.stdout, (name, done.stdout[-2000:], done.stderr[-2000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    for name in ["java", "jdbc", "cpp", "go"]:
        parser.add_argument("--" + name)
    arguments = parser.parse_args()
    expected = table()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "trips").mkdir()
        (folder / "arrow").mkdir()
        views = pa.table({"word": pa.array(["a text that is long", "b"], pa.string_view())})
        with pa.ipc.new_file(folder / "views.arrow", views.schema) as writer:
            writer.write_table(views)
        for part in range(3):
            rows = expected.slice(part * ROWS // 3, ROWS // 3)
            pq.write_table(rows, folder / f"trips/{part}.parquet", row_group_size=4_000)
            with pa.ipc.new_file(folder / f"arrow/{part}.arrow", rows.schema) as writer:
                writer.write_table(rows, 4_000)
        opens = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp"]
        with Server(arguments.server, f"trips={folder / 'trips'}/", f"arrow={folder / 'arrow'}/", str(folder / "views.arrow"), "--writable") as server:
            checks = {
                "java": lambda it: ["java", *opens, it, str(HERE / "java/Core.java"), server.address],
                "jdbc": lambda it: ["java", *opens, it, str(HERE / "java/Jdbc.java"), server.address],
                "cpp": lambda it: [it, server.tcp],
                "go": lambda it: [it, server.address],
            }
            for name, command in checks.items():
                given = getattr(arguments, name)
                if given:
                    program(name, command(given), expected)
                print(f"{name}: {'ok' if given else 'skipped'}")
            adbc(server, expected)
            print("adbc: ok")
            pyarrow(server, expected)
        passwords(arguments.server, folder)
        print("pyarrow: ok")


if __name__ == "__main__":
    main()
