// SPDX-License-Identifier: Apache-2.0
//! The engines `gpu` and `auto`, on machines with and without a GPU.

use crate::cli::data::{read_file, whole};
use crate::cli::rtl;
use crate::cli::run::Folder;

const TEXT: &str = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n";

#[test]
fn what_a_gpu_would_do_is_said_without_one() {
    let folder = Folder::new();
    folder.write("x.jsonl", TEXT);
    rtl::write(&folder);
    let explain = |file: &str, engine: &str| {
        let ran = folder.run(&["convert", file, "--engine", engine, "--explain"]);
        ran.assert_status(0);
        String::from_utf8(ran.stdout).unwrap()
    };
    let text = explain("x.jsonl", "gpu");
    assert!(text.ends_with("\nengine gpu\n"), "{text}");
    let text = explain("x.parquet", "gpu");
    let busy = "id: Int64 by engine gpu\n    row group 0 on an H100 or H200: 1 page of ";
    assert!(text.contains(busy) && text.contains(" blocks (0 %)"), "{text}");
    for (file, by_gpu, by_cpu) in [
        (
            "x.jsonl",
            "\nengine gpu\n",
            "\nengine cpu; gpu declined: engine gpu: there is no CUDA driver",
        ),
        (
            "x.parquet",
            "id: Int64 by engine gpu\n",
            "id: Int64 by engine cpu; gpu declined: engine gpu: there is no CUDA driver",
        ),
    ] {
        let text = explain(file, "auto");
        assert!(text.contains(by_gpu) != text.contains(by_cpu), "{text}");
    }
}

#[test]
fn auto_converts_and_gpu_does_or_says_what_is_missing() {
    let folder = Folder::new();
    folder.write("x.jsonl", TEXT);
    let parquet = rtl::write(&folder);
    let convert = |file: &str, engine: &str, out: &str| {
        folder.run(&["convert", file, "--engine", engine, "-o", out])
    };
    convert("x.jsonl", "cpu", "cpu.arrow").assert_status(0);
    let json = whole(&read_file(&folder, "cpu.arrow"));
    for (file, rows) in [("x.jsonl", &json), ("x.parquet", &parquet)] {
        convert(file, "auto", "auto.arrow").assert_status(0);
        assert_eq!(&whole(&read_file(&folder, "auto.arrow")), rows, "{file}");
        let ran = convert(file, "gpu", "gpu.arrow");
        if ran.status == 0 {
            assert_eq!(&whole(&read_file(&folder, "gpu.arrow")), rows, "{file}");
        } else {
            ran.assert_status(2);
            assert!(ran.stderr.contains("engine gpu: there is no CUDA driver"), "{}", ran.stderr);
            assert!(ran.stderr.contains("--engine auto"), "{}", ran.stderr);
            assert!(!folder.names().contains(&"gpu.arrow".to_owned()), "{:?}", folder.names());
        }
    }
}
