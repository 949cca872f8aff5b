# SPDX-License-Identifier: Apache-2.0
"""cuDF as a peer of `bench gpu`: FORMAT PLACE FILE ROUNDS in; the number of rows, then the seconds
of each round out.

From a file or a device's memory it reads into the device's memory, from the host's memory into
Arrow arrays there. It never compares values: the suite compares the number of rows. It is driven by
pylibcudf, the layer below cuDF's data frames, which add nothing to reading."""

import pathlib
import sys
import time

import pylibcudf as cudf
import rmm
from rmm.pylibrmm.stream import DEFAULT_STREAM

kind, place, path, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

# Without a pool each allocation waits for the device.
rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())

if place == "file":
    source = path
else:
    source = pathlib.Path(path).read_bytes()
    if place == "device":
        source = rmm.DeviceBuffer.to_device(source)


def read():
    info = cudf.io.SourceInfo([source])
    if kind == "json":
        options = cudf.io.json.JsonReaderOptions.builder(info).lines(True).build()
        table = cudf.io.json.read_json(options).tbl
    else:
        options = cudf.io.parquet.ParquetReaderOptions.builder(info).build()
        table = cudf.io.parquet.read_parquet(options).tbl
    if place == "host":
        return table.to_arrow()
    DEFAULT_STREAM.synchronize()
    return table


table = read()
print(table.num_rows if place == "host" else table.num_rows())
del table
for _ in range(rounds):
    started = time.perf_counter()
    table = read()
    print(time.perf_counter() - started)
    del table
