# SPDX-License-Identifier: Apache-2.0
"""A Flight server in Python over a folder of files: one flight, one endpoint."""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.flight as flight

import harness


class Server(flight.FlightServerBase):
    def __init__(self, options):
        super().__init__("grpc://127.0.0.1:0")
        self.options = options
        if options.mode == "memory":
            self.batches = []
            for path in sorted(Path(options.data).iterdir()):
                reader = pa.ipc.open_file(pa.memory_map(str(path)))
                self.batches += [reader.get_batch(at) for at in range(reader.num_record_batches)]
                self.schema = reader.schema
        else:
            self.dataset = ds.dataset(options.data, format="parquet")
            self.schema = self.dataset.schema

    def get_flight_info(self, context, descriptor):
        return flight.FlightInfo(self.schema, descriptor, [flight.FlightEndpoint("taxi", [])], -1, -1)

    def do_get(self, context, ticket):
        if self.options.mode == "memory":
            return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(self.schema, self.batches))
        scanner = self.dataset.scanner(
            batch_size=self.options.batch_rows,
            batch_readahead=self.options.read_ahead,
            fragment_readahead=self.options.read_ahead,
            use_threads=False,
        )
        return flight.RecordBatchStream(scanner.to_reader())


server = Server(harness.options())
harness.ready(f"grpc://127.0.0.1:{server.port}")
harness.wait_for_end()
server.shutdown()
