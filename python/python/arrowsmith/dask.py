# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet as a ``dask.dataframe``: one partition for each part of the source.

Columns have Arrow types, so that a partition with nulls has the type of one without. Columns that
a computation does not use are not read.
"""

from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import pandas as pd

from arrowsmith import scan_json, scan_parquet
from arrowsmith._options import JsonReadOptions, ParquetReadOptions
from arrowsmith._scan import SPLIT_BYTES, Scan
from arrowsmith._types import SchemaLike, Source

if TYPE_CHECKING:
    from typing_extensions import Unpack


def read_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    split_bytes: int | str = SPLIT_BYTES,
    **options: "Unpack[JsonReadOptions]",
) -> Any:
    """Return a ``dask.dataframe.DataFrame`` of ``source``.

    The arguments and exceptions are those of ``scan_json`` and ``Scan.split``.
    """
    return _frame(scan_json(source, schema, **options), split_bytes)


def read_parquet(
    source: Source,
    *,
    split_bytes: int | str = SPLIT_BYTES,
    **options: "Unpack[ParquetReadOptions]",
) -> Any:
    """Return a ``dask.dataframe.DataFrame`` of ``source``.

    The arguments and exceptions are those of ``scan_parquet`` and ``Scan.split``.
    """
    return _frame(scan_parquet(source, **options), split_bytes)


def _frame(scan: Scan, split_bytes: int | str) -> Any:
    empty = scan.schema.to_pyarrow().empty_table()
    meta = empty.to_pandas(types_mapper=pd.ArrowDtype)
    # What dask calls the work, in its graphs and its dashboard.
    label = f"arrowsmith-{scan._format}"
    return dd.from_map(_partition, scan.split(split_bytes), meta=meta, label=label)


def _partition(scan: Scan, columns: list[str] | None = None) -> Any:
    return scan._of(columns).read_all().to_pandas(types_mapper=pd.ArrowDtype)
