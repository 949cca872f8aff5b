// SPDX-License-Identifier: Apache-2.0
//! Every approach computes the same sum: random layouts, both forms of objects, all JDKs of this
//! machine.

use std::fmt::Write;
use std::process::Command;

use arrowsmith_jvm::{Built, Existing, Jdk, JvmError, Layout, Mode, RunOptions};
use arrowsmith_testkit::scale;
use arrowsmith_workload::SplitMix64;

use crate::common::{build, check, jdks, layout, libraries};

/// Each class contains only later ones; all types occur.
fn random_layout(seed: u64) -> String {
    const PRIMITIVES: [&str; 8] =
        ["boolean", "byte", "short", "char", "int", "long", "float", "double"];
    let mut random = SplitMix64::new(seed);
    let classes = 1 + random.below(4);
    let exact = random.below(3) == 0;
    let records = random.below(3) == 0;
    let mut text = format!("records: {records}\nclasses:\n");
    for class in 0..classes {
        let _ = writeln!(text, "  C{class}:");
        let fields = 1 + random.below(9);
        for field in 0..fields {
            let kinds = if class + 1 < classes { 4 } else { 3 };
            let mut ty = match random.below(kinds) {
                2 if !exact => format!("string({})", random.below(40)),
                3 => format!("C{}", class + 1 + random.below(classes - class - 1)),
                _ => PRIMITIVES[usize::try_from(random.below(8)).unwrap()].to_owned(),
            };
            let reference = ty.starts_with('C') || ty.starts_with('s') && ty.contains('(');
            if !exact && reference && random.below(2) == 0 {
                ty.push('?');
            }
            for _ in 0..random.below(3) {
                match random.below(3) {
                    _ if exact => write!(ty, "[{}]", random.below(5)),
                    0 => write!(ty, "[]"),
                    1 => write!(ty, "[{}]", random.below(7)),
                    _ => write!(ty, "[<={}]", random.below(9)),
                }
                .unwrap();
                if !exact && random.below(3) == 0 {
                    ty.push('?');
                }
            }
            let _ = writeln!(text, "    f{field}: '{ty}'");
        }
        // Some data in every class, so that none is refused for being empty.
        let _ =
            writeln!(text, "    last: {}", PRIMITIVES[usize::try_from(random.below(8)).unwrap()]);
    }
    text
}

fn both_modes(built: &Built, jdk: &Jdk, what: &str) {
    let libraries = libraries(jdk);
    for mode in [Mode::All { objects: 300 }, Mode::One { calls: 3 }] {
        let threads = if matches!(mode, Mode::One { .. }) { vec![1] } else { vec![1, 3] };
        let options =
            RunOptions { mode, threads, rounds: 2, warmup: 0, seed: 7, ..RunOptions::default() };
        let outcome = built.run(jdk, &options).unwrap();
        check(&outcome, &libraries, what);
        assert!(outcome.measured.len() >= 7, "{what}: {outcome:#?}");
    }
}

#[test]
fn random_layouts() {
    let jdks = jdks();
    for seed in 0..scale::number("ARROWSMITH_SEEDS", 2, 30) {
        if jdks.is_empty() {
            return;
        }
        let text = random_layout(seed);
        let folder = tempfile::tempdir().unwrap();
        let built = build(&layout(&text), &folder.path().join("it"), &jdks);
        for jdk in &jdks {
            both_modes(&built, jdk, &format!("seed {seed}, JDK {}\n{text}", jdk.feature));
        }
    }
}

#[test]
fn the_papers_shapes() {
    let jdks = jdks();
    for text in [
        "leaf: {primitives: 512, type: int}",
        "leaf: {primitives: 3, arrays: 8, length: 4, types: [boolean, byte, short, char, int, long, float, double]}",
        "tree: {width: 4, depth: 4, primitives: 2, arrays: 1, length: 3, types: [long, char]}",
        "tree: {width: 1, depth: 100, primitives: 1}",
    ] {
        if jdks.is_empty() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let built = build(&layout(text), &folder.path().join("it"), &jdks);
        for jdk in &jdks {
            both_modes(&built, jdk, text);
        }
    }
}

const CLASSES: &str = "package com.example;
public class Shop {
  public static class Base implements java.io.Serializable { private int id; protected long stamp; static int count = 3; }
  public static class Order extends Base {
    private final String note = null; public double total; transient Object cache; Line[] lines; int[][] grid; private Point at;
  }
  public static final class Line implements java.io.Serializable { public String sku; private float[] prices; char grade; }
  public record Point(int x, short y, byte[] tags) implements java.io.Serializable {}
  public static class Node { int v; Node next; }
  public static class Far { int v; java.util.List<String> names; }
  public static class Any { int v; Object what; }
  static class Hidden { int v; }
  public static class Holds { Hidden hidden; }
  public class Inner { int v; }
  public interface Face {}
  public static class Empty {}
  public static class Loud { public int v; static { if (true) throw new RuntimeException(\"code of the class ran\"); } }
}";

#[test]
fn classes_that_exist() {
    let jdks = jdks();
    let (Some(oldest), Some(newest)) = (jdks.first(), jdks.last()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("Shop.java");
    let classes = folder.path().join("classes");
    std::fs::write(&source, CLASSES).unwrap();
    let status = Command::new(oldest.program("javac"))
        .arg("-d")
        .arg(&classes)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    let find = |class: &str| -> Result<Layout, JvmError> {
        Existing { class: class.to_owned(), jars: vec![classes.clone()] }.layout(newest)
    };
    let order = find("com.example.Shop$Order").unwrap();
    let names: Vec<&str> = order.root().fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["id", "stamp", "note", "total", "lines", "grid", "at"]);
    assert_eq!(order.root().java, "com.example.Shop.Order");
    let built = build(&order, &folder.path().join("it"), &jdks);
    for jdk in &jdks {
        both_modes(&built, jdk, "Shop$Order");
    }
    for (class, reason) in [
        ("Shop$Node", "Node holds itself; objects must be trees"),
        ("Shop$Far", "java.util.List"),
        ("Shop$Any", "java.lang.Object is of the module java.base"),
        ("Shop$Holds", "is not public"),
        ("Shop$Inner", "make the class static"),
        ("Shop$Face", "is not a class with fields"),
        ("Shop$Empty", "there is no primitive"),
        ("Nowhere", "cannot be loaded"),
    ] {
        let error = find(&format!("com.example.{class}")).unwrap_err().to_string();
        assert!(error.contains(reason), "{class}: {error}");
    }
    let layout = find("com.example.Shop$Loud").unwrap();
    assert_eq!(layout.root().fields.len(), 1, "read without running its code");
    let error = find("a; System.exit(1)").unwrap_err().to_string();
    assert!(error.contains("cannot be loaded"), "{error}");
}

#[test]
fn memory_is_returned() {
    let jdks = jdks();
    let Some(newest) = jdks.last() else { return };
    if !cfg!(target_os = "linux") {
        return;
    }
    let text = "classes: {A: {x: int, s: 'string?', l: 'B[<=3]'}, B: {v: 'long[]', w: 'byte[4]'}}";
    let folder = tempfile::tempdir().unwrap();
    let built = build(&layout(text), &folder.path().join("it"), &jdks);
    for approach in [
        "bytebuffer",
        "bytebuffer-direct",
        "unsafe",
        "jni",
        "jni-critical",
        "ffm",
        "direct-copy",
        "direct",
    ] {
        if approach == "ffm" && newest.feature < 22 {
            continue;
        }
        let jvm = [
            "-Xmx32m",
            "-Xms32m",
            "-XX:+AlwaysPreTouch",
            "-XX:MaxDirectMemorySize=8m",
            "-XX:TieredStopAtLevel=1",
        ]
        .map(str::to_owned);
        let mut command = built.command(newest, &jvm, "bench.Leak").unwrap();
        let output = command.args([approach, "10000"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let grown = said.lines().find_map(|line| line.strip_prefix("grown "));
        let grown: i64 = grown.unwrap_or_else(|| panic!("{approach}: {output:?}")).parse().unwrap();
        // Leaking one 8-byte reference per round would exceed this.
        assert!(grown < 4_000, "{approach} has grown by {grown} KiB");
    }
}

#[test]
fn a_folder_with_other_things_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.txt"), "mine").unwrap();
    let layout = Layout::named("small").unwrap();
    let error = arrowsmith_jvm::Project::generate(&layout, folder.path()).unwrap_err();
    assert!(error.to_string().contains("holds other things"));
    let inside = folder.path().join("new");
    arrowsmith_jvm::Project::generate(&layout, &inside).unwrap();
    arrowsmith_jvm::Project::generate(&layout, &inside).unwrap();
    assert!(inside.join("native/native.c").is_file());
}
