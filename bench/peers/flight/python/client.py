# SPDX-License-Identifier: Apache-2.0
"""A Flight client in Python: lists the flights, reads every endpoint in turn, and keeps the result
as a table."""

import pyarrow as pa
import pyarrow.flight as flight

import harness


def get(uri):
    with flight.connect(uri) as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_path("taxi"))
        return pa.concat_tables(client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints)


harness.serve_commands(get)
