# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import arrowsmith
import arrowsmith.spark
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


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move the package to a checkout in which nothing has been built."""
    (tmp_path / "python/python/arrowsmith").mkdir(parents=True)
    monkeypatch.setattr(arrowsmith.spark, "_HERE", tmp_path / "python/python/arrowsmith")
    monkeypatch.setitem(sys.modules, "arrowsmith_spark", None)
    return tmp_path


def made(*jars: Path) -> str:
    for jar in jars:
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.touch()
    return ",".join(map(str, jars))


def test_the_package_is_fetched_unless_there_are_jars(tmp_path: Path) -> None:
    package = f"io.arrowsmith:arrowsmith-spark_2.13:{arrowsmith.__version__}"
    assert settings(Builder()) == {
        "spark.jars.packages": package,
        "spark.sql.extensions": EXTENSION,
    }
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    paths = made(*jars)
    assert settings(Builder(), jars) == {
        "spark.jars": paths,
        "spark.sql.extensions": EXTENSION,
    }
    assert settings(Builder(), str(jars[0]))["spark.jars"] == str(jars[0])


def test_jars_are_found_in_a_checkout(root: Path) -> None:
    version = arrowsmith.__version__
    library = root / f"java/arrowsmith/target/arrowsmith-{version}.jar"
    reader = root / f"java/spark/target/arrowsmith-spark_2.13-{version}.jar"
    made(library)
    assert "spark.jars" not in settings(Builder()), "one of the two alone is of no use"
    assert settings(Builder())["spark.jars.packages"].endswith(version)
    built = made(library, reader)
    assert settings(Builder()) == {"spark.jars": built, "spark.sql.extensions": EXTENSION}
    given = root / "own.jar"
    assert made(given) == settings(Builder(), given)["spark.jars"]


def test_jars_are_those_of_the_package_beside(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version, jars = arrowsmith.__version__, [root / "a.jar", root / "b.jar"]
    paths = made(*jars)
    package = SimpleNamespace(__version__=version, JARS=jars)
    monkeypatch.setitem(sys.modules, "arrowsmith_spark", package)
    assert settings(Builder()) == {"spark.jars": paths, "spark.sql.extensions": EXTENSION}
    package.__version__ = "0.0.1"
    with pytest.raises(ImportError, match=f"pip install arrowsmith-spark=={version}$"):
        configure(Builder())
    assert settings(Builder(), jars)["spark.jars"] == paths


def test_what_is_set_stays_and_twice_is_once() -> None:
    builder = Builder(spark__sql__extensions="a.B", spark__jars__packages="c:d:1")
    once = settings(builder)
    assert once["spark.sql.extensions"] == f"a.B,{EXTENSION}"
    assert once["spark.jars.packages"].startswith("c:d:1,io.arrowsmith:")
    assert settings(builder) == once


def test_a_missing_jar_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        configure(Builder(), tmp_path / "none.jar")
