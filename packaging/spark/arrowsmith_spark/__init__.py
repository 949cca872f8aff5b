# SPDX-License-Identifier: Apache-2.0
"""The jars of Arrowsmith for Apache Spark, which ``arrowsmith.spark.configure`` looks for."""

from pathlib import Path

__all__ = ["JARS"]
__version__ = "0.1.0"

#: The paths of the jars, which are for the version of ``arrowsmith`` that is this one's.
JARS = sorted(Path(__file__).parent.glob("*.jar"))
