// SPDX-License-Identifier: Apache-2.0
//! The readers inside Apache Spark: their jar, in the folder repository beside the library's, and
//! the wheel with both jars, which `pip install arrowsmith[spark]` installs. After `jar`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::shell::{self, Outcome, fail};
use super::{Release, jar};

/// The Scala artifact.
const READERS: &str = "arrowsmith-spark_2.13";

pub fn make(release: &Release) -> Outcome {
    let library = jar::deployed(release, "arrowsmith");
    if !library.exists() {
        return fail(format!("{}: is not there; make `jar` before", library.display()));
    }
    // The JDK that Spark is made for: Scala takes what the library of its JDK has.
    jar::deploy(release, &jar::jdk(release, "17")?, "java/spark/pom.xml", &[])?;
    jar::holds(release, READERS)?;
    let wheel = pack(release, &[library, jar::deployed(release, READERS)])?;
    shell::output(release.tool("twine")?.args(["check", "--strict"]).arg(&wheel))?;
    finds(release, &wheel)
}

/// Builds the wheel, of a copy of its folder that has the jars.
fn pack(release: &Release, jars: &[PathBuf]) -> Outcome<PathBuf> {
    let folder = release.staged("spark")?;
    let from = release.root.join("packaging/spark");
    for file in ["pyproject.toml", "README.md", "arrowsmith_spark/__init__.py"] {
        shell::copy(&from.join(file), &folder.join(file))?;
    }
    shell::copy(&release.root.join("LICENSE"), &folder.join("LICENSE"))?;
    for jar in jars {
        shell::copy(jar, &folder.join("arrowsmith_spark").join(shell::leaf(jar)))?;
    }
    let mut pip = release.tool("python")?;
    pip.args(["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]);
    pip.arg("--wheel-dir").arg(&release.out).arg(&folder);
    shell::output(pip.env("SOURCE_DATE_EPOCH", release.epoch()?))?;
    let wheel = format!("arrowsmith_spark-{}-py3-none-any.whl", release.version);
    let wheel = release.out.join(wheel);
    match wheel.exists() {
        true => Ok(wheel),
        false => fail(format!("{}: packaging/spark has another version", wheel.display())),
    }
}

/// Checks that the package finds the jars of the wheel, installed into an empty environment.
fn finds(release: &Release, wheel: &Path) -> Outcome {
    let venv = release.staged("spark-venv")?;
    shell::output(release.tool("python")?.args(["-m", "venv"]).arg(&venv))?;
    let python = venv.join("bin/python");
    let mut pip = Command::new(&python);
    shell::output(pip.args(["-m", "pip", "install", "--no-index"]).arg(wheel))?;
    let found = "import arrowsmith_spark as a; print(a.__version__, len(a.JARS), \
                 all(jar.stat().st_size > 0 for jar in a.JARS))";
    let found = shell::output(Command::new(&python).args(["-c", found]).current_dir(&venv))?;
    let wanted = format!("{} 2 True\n", release.version);
    if found == wanted { Ok(()) } else { fail(format!("the wheel has {found:?}, not {wanted:?}")) }
}

/// A program as in the guide; the last line that it prints tells rows and plan.
const PROGRAM: &str = "import sys
from pyspark.sql import SparkSession
import arrowsmith.spark
builder = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
spark = arrowsmith.spark.configure(builder).getOrCreate()
frame = spark.read.json(sys.argv[1]).where('id > 1')
plan = frame._jdf.queryExecution().executedPlan().toString()
print([tuple(row) for row in frame.collect()], 'Arrowsmith JSON' in plan)";

/// Installs Spark and all that `arrowsmith[spark]` needs from the artifacts, as a user would, and
/// reads a file.
pub fn check(release: &Release) -> Outcome {
    let venv = release.staged("spark-check")?;
    shell::output(release.tool("python")?.args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--find-links"]).arg(&release.out);
    shell::run(pip.arg(format!("arrowsmith[spark]=={}", release.version)).current_dir(&venv))?;
    let records = venv.join("in.jsonl");
    shell::write(&records, "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n")?;
    let mut python = Command::new(venv.join("bin/python"));
    python.args(["-c", PROGRAM]).arg(&records).current_dir(&venv);
    python.env("JAVA_HOME", jar::jdk(release, "17")?).env("SPARK_LOCAL_IP", "127.0.0.1");
    let found = shell::output(&mut python)?;
    match found.lines().last() {
        Some("[(2, 'b')] True") => {
            println!("   installed by pip: Spark reads by the jars of the wheel");
            Ok(())
        }
        _ => fail(format!("Spark says:\n{found}")),
    }
}
