// SPDX-License-Identifier: Apache-2.0
//! Followed files whose text becomes another, under the same number in the file system.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use arrowsmith_ingest::Service;
use serde_json::Value;

use super::{lines, numbers, start, wait_for};

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self) -> Service {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> Service {
        let settings = [
            format!("stream.s.follow=[{:?}]", self.path("*.log")),
            format!("stream.s.follow_state={:?}", self.path("places")),
        ];
        let all: Vec<&str> =
            settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
        start(self.folder.path(), &all)
    }

    fn stored(&self) -> Vec<i64> {
        let mut all = numbers(&self.path("out"));
        all.sort_unstable();
        all
    }

    fn places(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("places")).unwrap()).unwrap()
    }
}

fn wait_published(service: &Service, records: i64) {
    wait_for("the records", || service.status()["totals"]["published_records"] == records);
}

/// Writes other text into a file that stays what it is.
fn rewrite(path: &Path, text: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.set_len(0).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(text).unwrap();
}

#[test]
fn rewritten_text_is_read_however_long_it_is() {
    let folder = Folder::new();
    fs::write(folder.path("a.log"), lines(0..100)).unwrap();
    let service = folder.start();
    wait_published(&service, 100);
    // Longer, as long, and shorter than what was read.
    rewrite(&folder.path("a.log"), &lines(1000..1300));
    wait_published(&service, 400);
    rewrite(&folder.path("a.log"), &lines(2000..2300));
    wait_published(&service, 700);
    rewrite(&folder.path("a.log"), &lines(3000..3010));
    wait_published(&service, 710);
    assert!(service.drain().is_complete());
    let expected: Vec<i64> =
        (0..100).chain(1000..1300).chain(2000..2300).chain(3000..3010).collect();
    assert_eq!(folder.stored(), expected);
}

#[test]
fn what_changed_while_the_service_was_down_is_read() {
    let folder = Folder::new();
    fs::write(folder.path("a.log"), lines(0..100)).unwrap();
    let service = folder.start();
    wait_published(&service, 100);
    assert!(service.drain().is_complete());
    // The first lines are the same, those before the place are not.
    let text = [lines(0..50), lines(1000..1300)].concat();
    rewrite(&folder.path("a.log"), &text);
    let service = folder.start();
    wait_published(&service, 350);
    assert!(service.drain().is_complete());
    let twice = (0..50).flat_map(|n| [n, n]);
    let expected: Vec<i64> = twice.chain(50..100).chain(1000..1300).collect();
    assert_eq!(folder.stored(), expected);
}

#[cfg(unix)]
#[test]
fn another_file_that_was_given_the_number_of_one_that_is_gone_is_read_whole() {
    use std::os::unix::fs::MetadataExt;
    let number = |path: &Path| {
        let meta = fs::metadata(path).unwrap();
        format!("{}:{}", meta.dev(), meta.ino())
    };
    // Known by its birth, or where that is not told, by its text.
    for birth in [true, false] {
        let folder = Folder::new();
        fs::write(folder.path("a.log"), lines(0..100)).unwrap();
        let service = folder.start();
        wait_published(&service, 100);
        assert!(service.drain().is_complete());
        let mut places = folder.places();
        let first = number(&folder.path("a.log"));
        let first_line = if birth { 0..1 } else { 1000..1001 };
        fs::write(folder.path("b.log"), [lines(first_line), lines(1001..1300)].concat()).unwrap();
        fs::remove_file(folder.path("a.log")).unwrap();
        // As the file system would have done it.
        let mut place = places.as_object_mut().unwrap().remove(&first).unwrap();
        assert_eq!(place["offset"], lines(0..100).len());
        match (birth, &place["created_ns"]) {
            (true, Value::Null) => continue,
            (true, _) => {}
            (false, _) => place["created_ns"] = Value::Null,
        }
        let second = number(&folder.path("b.log"));
        fs::write(
            folder.path("places"),
            serde_json::json!({ (second.clone()): place, "9:9": place }).to_string(),
        )
        .unwrap();
        let service = folder.start();
        wait_published(&service, 300);
        assert!(service.drain().is_complete());
        assert_eq!(folder.stored().len(), 400);
        let places = folder.places();
        assert_eq!(places.as_object().unwrap().len(), 1, "that of the file that is gone is gone");
        assert_eq!(places[second]["offset"], fs::metadata(folder.path("b.log")).unwrap().len());
    }
}

#[test]
fn a_line_that_is_too_long_leaves_the_places_of_those_around_it() {
    let folder = Folder::new();
    let long = format!("{{\"n\":\"{}\"}}\n", "x".repeat(3 << 20));
    let text = [lines(0..10), long.into_bytes(), lines(10..20), b"{\"n\":".to_vec()].concat();
    let whole = text.len() - 5;
    fs::write(folder.path("a.log"), text).unwrap();
    let service = folder.start_with(&["limits.record_bytes=1MiB"]);
    wait_published(&service, 20);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.rejected), (21, 1));
    let places = folder.places();
    let place = places.as_object().unwrap().values().next().unwrap();
    assert_eq!((&place["offset"], &place["line"]), (&whole.into(), &22.into()));
    let mut file = File::options().append(true).open(folder.path("a.log")).unwrap();
    file.write_all(b"20}\n").unwrap();
    let service = folder.start();
    wait_published(&service, 1);
    assert!(service.drain().is_complete());
    assert_eq!(folder.stored(), (0..21).collect::<Vec<_>>());
}

#[test]
fn many_followers_of_huge_lines_do_not_wait_for_each_other() {
    let folder = Folder::new();
    let huge = |n: i64| format!("{{\"n\":{n},\"t\":\"{}\"}}\n", "y".repeat(3_500_000));
    let mut settings = vec![
        "service.memory=8MiB".to_owned(),
        "limits.record_bytes=4MiB".to_owned(),
        "limits.body_bytes=1MiB".to_owned(),
    ];
    for n in 0..12_i64 {
        let path = folder.path(&format!("{n}.huge"));
        fs::write(&path, huge(n)).unwrap();
        settings.push(format!("stream.f{n}.schema=\"n: int64 not null\""));
        settings.push(format!("stream.f{n}.follow=[{path:?}]"));
        settings.push(format!("stream.f{n}.follow_state={:?}", folder.path(&format!("p{n}"))));
        settings.push(format!("stream.f{n}.rejects={:?}", folder.path("rejects")));
        settings.push(format!("stream.f{n}.sink.0.type=directory"));
        settings.push(format!("stream.f{n}.sink.0.path={:?}", folder.path(&format!("out{n}"))));
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let service = folder.start_with(&settings);
    wait_published(&service, 12);
    assert!(service.drain().is_complete());
}
