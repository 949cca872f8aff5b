# SPDX-License-Identifier: Apache-2.0
"""Makes the table `deleted` here, of which rows were deleted by vectors, and its rows (`rows.json`).

    pip install pyarrow pyroaring==1.2.0
    python make.py FOLDER

The vectors are CRoaring's; all else is by the protocol of Delta.
"""

import json
import random
import shutil
import struct
import sys
import uuid
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
MAGIC = struct.pack("<I", 1681511377)


def z85(data):
    data += b"\0" * (-len(data) % 4)
    text = ""
    for (word,) in struct.iter_unpack(">I", data):
        digits = []
        for _ in range(5):
            word, digit = divmod(word, 85)
            digits.append(Z85[digit])
        text += "".join(reversed(digits))
    return text


def vector(rows):
    bitmap = BitMap64(rows)
    bitmap.run_optimize()
    return MAGIC + bitmap.serialize()


def main():
    target = Path(sys.argv[1]) / "deleted"
    shutil.rmtree(target, ignore_errors=True)
    (target / "_delta_log").mkdir(parents=True)
    (target / "a b").mkdir()
    choose = random.Random(1)
    # Lists, bits, runs, and a file of which everything was deleted.
    deleted = [
        sorted(choose.sample(range(70_000), 700)),
        [n for n in range(15_000) if choose.random() < 0.4] + [*range(70_000, 140_000)],
        [*range(10), 11, *range(13, 20)],
        [*range(500)],
        [],
    ]
    rows = [70_000, 150_000, 25, 500, 40]
    adds, kept, first, stored = [], [], 0, b"\x01"
    ids = [uuid.UUID(int=choose.getrandbits(128)) for _ in range(2)]
    for number, (count, gone) in enumerate(zip(rows, deleted)):
        name = f"part-{number}.parquet"
        table = pa.table({"n": pa.array(range(first, first + count), pa.int64())})
        pq.write_table(
            table,
            target / name,
            compression="zstd",
            use_dictionary=False,
            column_encoding="DELTA_BINARY_PACKED",
            row_group_size=40_000,
        )
        kept += sorted(set(range(first, first + count)) - {first + n for n in gone})
        first += count
        add = {
            "path": name,
            "partitionValues": {},
            "size": (target / name).stat().st_size,
            "modificationTime": 1_700_000_000_000 - number,
            "dataChange": True,
        }
        if gone:
            data = vector(gone)
            found = {"sizeInBytes": len(data), "cardinality": len(gone)}
            if number == 2:
                found |= {"storageType": "i", "pathOrInlineDv": z85(data)}
            elif number == 3:
                text = struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
                path = target / f"deletion_vector_{ids[1]}.bin"
                path.write_bytes(b"\x01" + text)
                found |= {
                    "storageType": "u",
                    "pathOrInlineDv": z85(ids[1].bytes),
                    "offset": 1,
                }
            else:
                found |= {
                    "storageType": "u",
                    "pathOrInlineDv": "a b" + z85(ids[0].bytes),
                }
                found["offset"] = len(stored)
                stored += struct.pack(">I", len(data)) + data
                stored += struct.pack(">I", zlib.crc32(data))
            add["deletionVector"] = found
        adds.append({"add": add})
    (target / f"a b/deletion_vector_{ids[0]}.bin").write_bytes(stored)
    features = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocol |= {"readerFeatures": features, "writerFeatures": features}
    field = {"name": "n", "type": "long", "nullable": True, "metadata": {}}
    metadata = {
        "id": str(uuid.UUID(int=7)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "partitionColumns": [],
        "configuration": {"delta.enableDeletionVectors": "true"},
    }
    lines = [{"protocol": protocol}, {"metaData": metadata}, *adds]
    log = target / "_delta_log/00000000000000000000.json"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # As ranges.
    ranges = []
    for n in kept:
        if ranges and ranges[-1][1] == n:
            ranges[-1][1] = n + 1
        else:
            ranges.append([n, n + 1])
    (target.parent / "rows.json").write_text(json.dumps(ranges) + "\n")


main()
