# SPDX-License-Identifier: Apache-2.0
"""Puts a wheel together: the package, its compiled module, the metadata.

maturin would compile the module a second time; here it is there already. The same input gives the
same bytes.
"""

import argparse
import base64
import datetime
import hashlib
import os
import stat
import zipfile
from pathlib import Path

GENERATOR = "arrowsmith packaging/wheel.py"


def main() -> None:
    """Writes the wheel whose name says what it is for."""
    parser = argparse.ArgumentParser()
    for name in ["--dist-info", "--package", "--module", "--wheel"]:
        parser.add_argument(name, type=Path, required=True)
    given = parser.parse_args()
    name, version, *tags = given.wheel.stem.split("-")
    info = f"{name}-{version}.dist-info"

    entries = {f"{name}/_lib.abi3.so": given.module}
    for path in sorted(given.package.rglob("*")):
        if path.suffix in {".py", ".pyi", ".typed"}:
            entries[f"{name}/{path.relative_to(given.package)}"] = path
    for path in sorted(given.dist_info.rglob("*")):
        if path.is_file() and path.name not in {"WHEEL", "RECORD"}:
            entries[f"{info}/{path.relative_to(given.dist_info)}"] = path
    wheel = f"Wheel-Version: 1.0\nGenerator: {GENERATOR}\nRoot-Is-Purelib: false\n"
    wheel += f"Tag: {'-'.join(tags)}\n"

    record = []
    with zipfile.ZipFile(given.wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry, path in entries.items():
            mode = 0o755 if path == given.module else 0o644
            record.append(add(archive, entry, path.read_bytes(), mode))
        record.append(add(archive, f"{info}/WHEEL", wheel.encode(), 0o644))
        record.append(f"{info}/RECORD,,\n")
        add(archive, f"{info}/RECORD", "".join(record).encode(), 0o644)


def add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int) -> str:
    """Adds a file; the line that RECORD has about it."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
    entry = zipfile.ZipInfo(name, date_time=date(epoch))
    entry.external_attr = (stat.S_IFREG | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def date(epoch: int) -> tuple[int, int, int, int, int, int]:
    """Seconds since 1970 as a zip has them: not before 1980."""
    at = datetime.datetime.fromtimestamp(max(epoch, 315532800), datetime.timezone.utc)
    return (at.year, at.month, at.day, at.hour, at.minute, at.second)


if __name__ == "__main__":
    main()
