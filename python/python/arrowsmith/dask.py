# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet as a ``dask.dataframe.DataFrame``: one partition for each part of the source.

Columns have Arrow types, so that a partition with nulls has the types of one without. Columns that
a computation does not use are not read.
"""

from typing import Any

import dask.dataframe as dd
import pandas as pd

from arrowsmith._readers import readers
from arrowsmith._scan import Scan

__all__ = ["read_json", "read_parquet"]


def _frame(scan: Scan, split_bytes: int | str) -> Any:
    empty = scan.schema.to_pyarrow().empty_table()
    meta = empty.to_pandas(types_mapper=pd.ArrowDtype)
    # What Dask calls the work, in its graphs and its dashboard.
    label = f"arrowsmith-{scan._format}"
    return dd.from_map(_partition, scan.split(split_bytes), meta=meta, label=label)


def _partition(scan: Scan, columns: list[str] | None = None) -> Any:
    return scan._of(columns).read_all().to_pandas(types_mapper=pd.ArrowDtype)


read_json, read_parquet = readers(_frame)
