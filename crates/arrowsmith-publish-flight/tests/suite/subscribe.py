# SPDX-License-Identifier: Apache-2.0
"""Subscribes to a Flight stream with pyarrow, as a user would; takes a JSON object as its argument.

Prints "subscribed", then one line per batch: the metadata that came with it, and its values of column `n`. Ends with
"end", or with the error that ended it.
"""

import json
import sys
import time

import pyarrow as pa
import pyarrow.flight as flight


def main() -> None:
    ask = json.loads(sys.argv[1])
    options = {}
    if ask.get("ca_file"):
        with open(ask["ca_file"], "rb") as file:
            options["tls_root_certs"] = file.read()
    headers = []
    if ask.get("token"):
        headers.append((b"authorization", b"Bearer " + ask["token"].encode()))
    call = flight.FlightCallOptions(headers=headers, timeout=60)
    client = flight.connect(ask["url"], **options)
    try:
        if ask.get("list"):
            for info in client.list_flights(options=call):
                print(json.dumps({"path": info.descriptor.path[0].decode(), "schema": str(info.schema)}))
        if ask.get("through_info"):
            info = client.get_flight_info(flight.FlightDescriptor.for_path(ask["through_info"]), call)
            assert client.get_schema(flight.FlightDescriptor.for_path(ask["through_info"]), call).schema == info.schema
            endpoint = info.endpoints[0]
            client = flight.connect(endpoint.locations[0], **options)
            ticket = endpoint.ticket
        else:
            ticket = flight.Ticket(ask["ticket"])
        reader = client.do_get(ticket, call)
        reader.schema  # noqa: B018: waits for the first answer
        print("subscribed", flush=True)
        taken = 0
        while taken < ask.get("count", 1 << 62):
            chunk = reader.read_chunk()
            metadata = json.loads(chunk.app_metadata.to_pybytes())
            metadata["n"] = chunk.data.column("n").to_pylist()
            print(json.dumps(metadata), flush=True)
            taken += 1
            time.sleep(ask.get("pause_s", 0))
        print("end")
    except StopIteration:
        print("end")
    except (flight.FlightError, pa.ArrowException) as error:
        print(f"{type(error).__name__}: {error}")


main()
