# SPDX-License-Identifier: Apache-2.0
"""Sets up a Spark session that reads JSON with Arrowsmith, inside of its executors.

Nothing else changes: ``spark.read.json`` and tables of JSON are read natively, with the same rows.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from arrowsmith import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["configure"]

_EXTENSION = "io.arrowsmith.spark.ArrowsmithExtensions"
_Path = str | os.PathLike[str]
_PACKAGE = "io.arrowsmith:arrowsmith-spark_2.13"


def configure(
    builder: "SparkSession.Builder", jars: _Path | Sequence[_Path] = ()
) -> "SparkSession.Builder":
    """Add Arrowsmith to the session that ``builder`` makes.

    ``jars`` are the two jars that ``tools/spark build`` makes, or one of them; without them Spark
    fetches the package ``io.arrowsmith:arrowsmith-spark_2.13`` of this version from its
    repositories. What ``spark.jars``, ``spark.jars.packages`` and ``spark.sql.extensions`` have on
    ``builder`` already stays. Settings of a session that runs already are not changed by it:
    configure the first one.
    """
    if isinstance(jars, (str, os.PathLike)):
        jars = [jars]
    paths = [os.path.abspath(jar) for jar in jars]
    for path in paths:
        if not os.path.isfile(path):
            raise FileNotFoundError(path)
    if paths:
        _add(builder, "spark.jars", paths)
    else:
        _add(builder, "spark.jars.packages", [f"{_PACKAGE}:{__version__}"])
    return _add(builder, "spark.sql.extensions", [_EXTENSION])


def _add(
    builder: "SparkSession.Builder", name: str, values: Sequence[str]
) -> "SparkSession.Builder":
    """Add values to a setting that is a list with commas, each once."""
    before = str(builder._options.get(name, ""))
    known = [value for value in before.split(",") if value]
    return builder.config(name, ",".join(known + [value for value in values if value not in known]))
