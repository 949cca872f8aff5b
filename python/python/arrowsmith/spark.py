# SPDX-License-Identifier: Apache-2.0
"""Sets up a Spark session that reads JSON and Parquet with Arrowsmith, inside of its executors.

Nothing else changes: ``spark.read.json``, ``spark.read.parquet`` and tables of these are read
natively, with the same rows. ``pip install arrowsmith[spark]`` installs Spark and the jars, too.
"""

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arrowsmith import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["configure"]

_EXTENSION = "io.arrowsmith.spark.ArrowsmithExtensions"
_Path = str | os.PathLike[str]
_PACKAGE = "io.arrowsmith:arrowsmith-spark_2.13"
_HERE = Path(__file__).parent


def configure(
    builder: "SparkSession.Builder", jars: _Path | Sequence[_Path] = ()
) -> "SparkSession.Builder":
    """Add Arrowsmith to the session that ``builder`` makes.

    ``jars`` are the two jars that ``tools/spark build`` makes, or one of them. Without them, those
    are taken that were built in the checkout which this package is a part of, or else those of the
    package ``arrowsmith-spark``; where there are none, Spark fetches
    ``io.arrowsmith:arrowsmith-spark_2.13`` of this version from its repositories. What
    ``spark.jars``, ``spark.jars.packages`` and ``spark.sql.extensions`` have on ``builder`` already
    stays. Settings of a session that runs already are not changed by it: configure the first one.

    Raises ``FileNotFoundError`` for a jar that is not there, ``ImportError`` for an
    ``arrowsmith-spark`` of another version.
    """
    if isinstance(jars, (str, os.PathLike)):
        jars = [jars]
    paths = [os.path.abspath(jar) for jar in jars or _built() or _installed()]
    for path in paths:
        if not os.path.isfile(path):
            raise FileNotFoundError(path)
    if paths:
        _add(builder, "spark.jars", paths)
    else:
        _add(builder, "spark.jars.packages", [f"{_PACKAGE}:{__version__}"])
    return _add(builder, "spark.sql.extensions", [_EXTENSION])


def _built() -> list[Path]:
    """Find the jars that were built in the checkout of this package, if it is in one."""
    java = _HERE / "../../../java"
    built = [
        java / f"arrowsmith/target/arrowsmith-{__version__}.jar",
        java / f"spark/target/arrowsmith-spark_2.13-{__version__}.jar",
    ]
    return built if all(jar.is_file() for jar in built) else []


def _installed() -> list[Path]:
    """Find the jars of the package that ``arrowsmith[spark]`` installs, if it is there."""
    try:
        package = importlib.import_module("arrowsmith_spark")
    except ModuleNotFoundError:
        return []
    if package.__version__ != __version__:
        raise ImportError(
            f"arrowsmith-spark {package.__version__} is not for arrowsmith {__version__}: "
            f"pip install arrowsmith-spark=={__version__}"
        )
    return list(package.JARS)


def _add(
    builder: "SparkSession.Builder", name: str, values: Sequence[str]
) -> "SparkSession.Builder":
    """Add values to a setting that is a list with commas, each once."""
    before = str(builder._options.get(name, ""))
    known = [value for value in before.split(",") if value]
    return builder.config(name, ",".join(known + [value for value in values if value not in known]))
