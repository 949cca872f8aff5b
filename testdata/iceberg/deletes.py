# SPDX-License-Identifier: Apache-2.0
"""Makes the table `deleted` here, of which rows were deleted by files of positions and by deletion
vectors, and the rows that pyiceberg reads of it (`deleted.json`, as ranges).

    pip install 'pyiceberg[sql-sqlite,pyarrow]==0.12.0' pyroaring fastavro
    python deletes.py FOLDER

The table is pyiceberg's. It does not write deletes: their manifests are fastavro's, the vectors
CRoaring's, all else is by the specification.
"""

import json
import random
import shutil
import struct
import sys
import zlib
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.types import LongType, NestedField
from pyroaring import BitMap64

ROOT = Path("/warehouse")
FOLDER = ROOT / "t/deleted"
SNAPSHOT = 77


def field(name, kind, at):
    return {"name": name, "type": ["null", kind] if isinstance(kind, str) else kind, "field-id": at}


DATA_FILE = {
    "type": "record",
    "name": "r2",
    "fields": [
        field("content", "int", 134),
        field("file_path", "string", 100),
        field("file_format", "string", 101),
        field("partition", {"type": "record", "name": "r102", "fields": []}, 102),
        field("record_count", "long", 103),
        field("file_size_in_bytes", "long", 104),
        field("referenced_data_file", "string", 143),
        field("content_offset", "long", 144),
        field("content_size_in_bytes", "long", 145),
    ],
}
ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        field("status", "int", 0),
        field("snapshot_id", "long", 1),
        field("sequence_number", "long", 3),
        field("file_sequence_number", "long", 4),
        field("data_file", DATA_FILE, 2),
    ],
}
MANIFEST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        field("manifest_path", "string", 500),
        field("manifest_length", "long", 501),
        field("partition_spec_id", "int", 502),
        field("content", "int", 517),
        field("sequence_number", "long", 515),
        field("min_sequence_number", "long", 516),
        field("added_snapshot_id", "long", 503),
        field("added_files_count", "int", 504),
        field("existing_files_count", "int", 505),
        field("deleted_files_count", "int", 506),
        field("added_rows_count", "long", 512),
        field("existing_rows_count", "long", 513),
        field("deleted_rows_count", "long", 514),
    ],
}


def write_avro(path, schema, records, metadata):
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, metadata=metadata)


def write_positions(path, pairs):
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
        ]
    )
    pairs = sorted(pairs)
    columns = [[path for path, _ in pairs], [position for _, position in pairs]]
    arrays = [pa.array(values, kind.type) for values, kind in zip(columns, schema)]
    pq.write_table(pa.table(arrays, schema=schema), path, compression="zstd")


def write_vectors(path, vectors):
    """A Puffin file; where each vector is."""
    text, blobs, places = b"PFA1", [], []
    for name, rows in vectors:
        bitmap = BitMap64(rows)
        bitmap.run_optimize()
        vector = struct.pack("<I", 1681511377) + bitmap.serialize()
        blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
        places.append((len(text), len(blob)))
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [2147483546],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(text),
                "length": len(blob),
                "properties": {"referenced-data-file": name, "cardinality": str(len(rows))},
            }
        )
        text += blob
    footer = json.dumps({"blobs": blobs}).encode()
    text += b"PFA1" + footer + struct.pack("<I", len(footer)) + b"\0\0\0\0PFA1"
    path.write_bytes(text)
    return places


def entry(path, form, count, sequence, of=None, place=(None, None)):
    file = {
        "content": 1,
        "file_path": f"file://{path}",
        "file_format": form,
        "partition": {},
        "record_count": count,
        "file_size_in_bytes": path.stat().st_size,
        "referenced_data_file": of,
        "content_offset": place[0],
        "content_size_in_bytes": place[1],
    }
    return {
        "status": 1,
        "snapshot_id": SNAPSHOT,
        "sequence_number": sequence,
        "file_sequence_number": sequence,
        "data_file": file,
    }


def main():
    target = Path(sys.argv[1])
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir()
    catalog = SqlCatalog("c", uri=f"sqlite:///{ROOT}/c.db", warehouse=f"file://{ROOT}")
    catalog.create_namespace("t")
    properties = {"write.parquet.compression-codec": "zstd", "write.parquet.dict-size-bytes": "1"}
    schema = Schema(NestedField(1, "n", LongType(), False))
    table = catalog.create_table("t.deleted", schema, properties=properties)
    first, names = 0, []
    for count in (70_000, 30_000, 50, 20):
        rows = pa.table({"n": pa.array(range(first, first + count), pa.int64())})
        table.append(rows)
        first += count
        (file,) = {task.file.file_path for task in table.scan().plan_files()} - set(names)
        names.append(file)
    choose = random.Random(2)
    data = FOLDER / "data"
    # Of the first file by positions, and then by a vector with these rows and others; of the third
    # all; of the last none.
    early = sorted(choose.sample(range(70_000), 300))
    some = sorted({*choose.sample(range(30_000), 900), *range(4_000, 12_000)})
    positions = [(names[0], n) for n in early] + [(names[1], n) for n in some]
    write_positions(data / "positions-1.parquet", positions)
    write_positions(data / "positions-2.parquet", [(names[1], n) for n in range(11_990, 12_010)])
    vector = sorted({*early, *range(60_000, 69_999), *choose.sample(range(9_000), 5_000)})
    places = write_vectors(data / "vectors.puffin", [(names[0], vector), (names[2], range(50))])
    entries = [
        entry(data / "positions-1.parquet", "PARQUET", len(positions), 5),
        entry(data / "positions-2.parquet", "PARQUET", 20, 5),
        entry(data / "vectors.puffin", "PUFFIN", len(vector), 6, names[0], places[0]),
        entry(data / "vectors.puffin", "PUFFIN", 50, 6, names[2], places[1]),
    ]
    manifest = FOLDER / "metadata/deletes-m0.avro"
    fields = {"schema": schema.model_dump_json(), "partition-spec": "[]", "partition-spec-id": "0"}
    write_avro(manifest, ENTRY, entries, {**fields, "format-version": "3", "content": "deletes"})
    snapshot = table.current_snapshot()
    kept = list(fastavro.reader(open(snapshot.manifest_list.removeprefix("file://"), "rb")))
    wanted = [kind["name"] for kind in MANIFEST["fields"]]
    manifests = [{name: value for name, value in old.items() if name in wanted} for old in kept]
    added = dict.fromkeys(wanted, 0)
    added |= {"manifest_path": f"file://{manifest}", "manifest_length": manifest.stat().st_size}
    added |= {"content": 1, "sequence_number": 6, "min_sequence_number": 5}
    added |= {"added_snapshot_id": SNAPSHOT, "added_files_count": len(entries)}
    listed = FOLDER / "metadata/snap-77.avro"
    write_avro(listed, MANIFEST, [*manifests, added], {"format-version": "3"})
    last = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(last.read_text())
    metadata |= {"format-version": 3, "next-row-id": first, "last-sequence-number": 6}
    metadata["current-snapshot-id"] = SNAPSHOT
    metadata["snapshots"] = [
        {
            "snapshot-id": SNAPSHOT,
            "sequence-number": 6,
            "timestamp-ms": metadata["last-updated-ms"],
            "manifest-list": f"file://{listed}",
            "summary": {"operation": "delete"},
            "schema-id": 0,
            "first-row-id": 0,
            "added-rows": 0,
        }
    ]
    metadata["refs"] = {"main": {"snapshot-id": SNAPSHOT, "type": "branch"}}
    metadata["snapshot-log"] = []
    for old in FOLDER.glob("metadata/*.metadata.json"):
        old.unlink()
    path = FOLDER / "metadata/00005-deleted.metadata.json"
    path.write_text(json.dumps(metadata))
    read = StaticTable.from_metadata(f"file://{path}").scan().to_arrow()["n"].to_pylist()
    gone = {*vector} | {70_000 + n for n in {*some, *range(11_990, 12_010)}}
    gone |= {100_000 + n for n in range(50)}
    assert sorted(read) == [n for n in range(first) if n not in gone]
    ranges = []
    for n in sorted(read):
        if ranges and ranges[-1][1] == n:
            ranges[-1][1] = n + 1
        else:
            ranges.append([n, n + 1])
    shutil.rmtree(target / "deleted", ignore_errors=True)
    # Only what the snapshot has.
    used = {Path(old["manifest_path"]).name for old in manifests} | {manifest.name, listed.name}
    for old in FOLDER.glob("metadata/*.avro"):
        if old.name not in used:
            old.unlink()
    shutil.copytree(FOLDER, target / "deleted")
    (target / "deleted.json").write_text(json.dumps(ranges) + "\n")
    shutil.rmtree(ROOT)


main()
