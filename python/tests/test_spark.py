# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import pytest

import arrowsmith
from arrowsmith.spark import configure

EXTENSION = "io.arrowsmith.spark.ArrowsmithExtensions"


class Builder:
    """What ``configure`` uses of Spark's: its settings, and the call that sets one."""

    def __init__(self, **options: str) -> None:
        self._options = {name.replace("__", "."): value for name, value in options.items()}

    def config(self, name: str, value: str) -> "Builder":
        self._options[name] = value
        return self


def settings(builder: Any, *jars: Any) -> dict[str, str]:
    assert configure(builder, *jars) is builder
    return dict(builder._options)


def test_the_package_is_fetched_unless_there_are_jars(tmp_path: Path) -> None:
    package = f"io.arrowsmith:arrowsmith-spark_2.13:{arrowsmith.__version__}"
    assert settings(Builder()) == {
        "spark.jars.packages": package,
        "spark.sql.extensions": EXTENSION,
    }
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    for jar in jars:
        jar.touch()
    assert settings(Builder(), jars) == {
        "spark.jars": f"{jars[0]},{jars[1]}",
        "spark.sql.extensions": EXTENSION,
    }
    assert settings(Builder(), str(jars[0]))["spark.jars"] == str(jars[0])


def test_what_is_set_stays_and_twice_is_once() -> None:
    builder = Builder(spark__sql__extensions="a.B", spark__jars__packages="c:d:1")
    once = settings(builder)
    assert once["spark.sql.extensions"] == f"a.B,{EXTENSION}"
    assert once["spark.jars.packages"].startswith("c:d:1,io.arrowsmith:")
    assert settings(builder) == once


def test_a_missing_jar_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        configure(Builder(), tmp_path / "none.jar")
