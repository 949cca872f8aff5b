// SPDX-License-Identifier: Apache-2.0
//! Direct access is safe, by experiment: while collections move objects as often as possible,
//! native code reads the heap. With the protection that the generated program chooses every sum is
//! right; without it, objects move during the read and the program gets wrong sums or crashes,
//! which shows that the experiment detects moves.

use std::path::Path;
use std::process::Output;

use arrowsmith_jvm::{Built, Jdk, Mode, RunOptions};
use arrowsmith_testkit::scale::Sample;

use crate::common::{build, check, jdks, layout, libraries};

const LAYOUT: &str = "classes:
  Order: {id: long, c: char, d: double, note: 'string(40)?', lines: 'Line?[<=5]?', one: Line, grid: 'int[3][<=4]'}
  Line: {sku: string, prices: 'double[4]', bytes: 'byte[]?', longs: 'long[]'}
";

/// Runs the program that moves objects.
fn program(
    built: &Built,
    jdk: &Jdk,
    jvm: &[&str],
    protection: &str,
    way: &str,
    rounds: u32,
) -> Output {
    let mut options: Vec<String> = jvm.iter().map(|option| (*option).to_owned()).collect();
    options.extend(
        ["-Xmx96m", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=/dev/null"].map(str::to_owned),
    );
    let mut command = built.command(jdk, &options, "bench.Stress").unwrap();
    command.args([protection, way, &rounds.to_string(), "60"]).output().unwrap()
}

/// Whether all sums were right.
fn stress(
    built: &Built,
    jdk: &Jdk,
    jvm: &[&str],
    protection: &str,
    way: &str,
    rounds: u32,
) -> bool {
    let output = program(built, jdk, jvm, protection, way, rounds);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let right = output.status.success() && said.contains(" 0 wrong");
    if protection == "auto" && !right {
        eprintln!("{output:?}");
    }
    right
}

fn built(folder: &Path, jdks: &[Jdk]) -> Built {
    build(&layout(LAYOUT), &folder.join("it"), jdks)
}

#[test]
fn nothing_moves_while_native_code_reads() {
    let jdks = jdks();
    let folder = tempfile::tempdir().unwrap();
    if jdks.is_empty() {
        return;
    }
    let built = built(folder.path(), &jdks);
    for jdk in &jdks {
        for collector in ["Serial", "Parallel", "G1"] {
            let option = format!("-XX:+Use{collector}GC");
            let what = format!("JDK {}, {collector}", jdk.feature);
            for way in ["copy", "read"] {
                assert!(stress(&built, jdk, &[&option], "auto", way, 8), "{what}: {way}");
            }
            // When a collection happens is random: one success in a few tries is enough.
            let moved = (0..4).any(|_| !stress(&built, jdk, &[&option], "NONE", "copy", 8));
            assert!(moved, "{what}: nothing moved without protection, so the test shows nothing");
            if collector == "G1" && jdk.feature >= 22 {
                // The protection up to JDK 21 pins a region only.
                let moved =
                    (0..4).any(|_| !stress(&built, jdk, &[&option], "CRITICAL_ARRAY", "copy", 8));
                assert!(moved, "{what}: a critical array held everything in place");
            }
        }
    }
}

/// Collectors that move objects while threads run are refused; the test also shows that the
/// protection of other collectors fails there.
#[test]
fn collectors_that_move_objects_meanwhile_are_refused() {
    let jdks = jdks();
    let folder = tempfile::tempdir().unwrap();
    if jdks.is_empty() {
        return;
    }
    let built = built(folder.path(), &jdks);
    for jdk in &jdks {
        for collector in ["Z", "Shenandoah"] {
            let option = format!("-XX:+Use{collector}GC");
            let what = format!("JDK {}, {collector}", jdk.feature);
            let refused = program(&built, jdk, &[&option], "auto", "read", 1);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            if said.contains("Could not create the Java Virtual Machine") {
                continue;
            }
            assert!(said.contains("moves objects while native code reads"), "{what}: {said}");
            // On JDK 25 references of ZGC are not addresses.
            let held = match (collector, jdk.feature) {
                ("Z", 22..) => "CRITICAL_CALL",
                _ => "CRITICAL_ARRAY",
            };
            let moved = (0..4).any(|_| !stress(&built, jdk, &[&option], held, "copy", 40));
            assert!(moved, "{what}: nothing moved with {held}, so why is it refused?");
        }
    }
}

#[test]
fn offsets_come_from_the_vm() {
    let jdks = jdks();
    let folder = tempfile::tempdir().unwrap();
    if jdks.is_empty() {
        return;
    }
    let built = built(folder.path(), &jdks);
    let mut sample = Sample::of("heaps of JVMs", 3);
    for jdk in &jdks {
        let mut heaps = vec![
            "-XX:+UseCompressedOops",
            "-XX:-UseCompressedOops",
            "-XX:-UseCompressedClassPointers",
            "-XX:-CompactStrings",
            "-XX:ObjectAlignmentInBytes=16",
        ];
        if jdk.feature >= 25 {
            heaps.push("-XX:+UseCompactObjectHeaders");
        }
        for heap in heaps {
            for collector in ["Serial", "Parallel", "G1", "Epsilon", "Z", "Shenandoah"] {
                let jvm = [
                    "-XX:+UnlockExperimentalVMOptions",
                    &format!("-XX:+Use{collector}GC"),
                    heap,
                    "-Xmx256m",
                ];
                let options = RunOptions {
                    approaches: ["direct", "direct-copy", "unsafe"].map(str::to_owned).to_vec(),
                    mode: Mode::All { objects: 500 },
                    threads: vec![2],
                    rounds: 1,
                    warmup: 0,
                    jvm: jvm.map(str::to_owned).to_vec(),
                    ..RunOptions::default()
                };
                let what = format!("JDK {}, {collector}, {heap}", jdk.feature);
                if !sample.takes(&[collector, heap], &what) {
                    continue;
                }
                // Some builds of the VM lack a collector; they report that they cannot start.
                let outcome = match built.run(jdk, &options) {
                    Ok(outcome) => outcome,
                    Err(error)
                        if error
                            .to_string()
                            .contains("Could not create the Java Virtual Machine")
                            || error.to_string().contains("not supported") =>
                    {
                        continue;
                    }
                    Err(error) => panic!("{what}: {error}"),
                };
                check(&outcome, &libraries(jdk), &what);
                let refused = ["Z", "Shenandoah"].contains(&collector);
                assert_eq!(
                    outcome.not_run.len(),
                    if refused { 2 } else { 0 },
                    "{what}: {outcome:?}"
                );
                assert_eq!(outcome.collector, collector, "{what}");
            }
        }
    }
}
