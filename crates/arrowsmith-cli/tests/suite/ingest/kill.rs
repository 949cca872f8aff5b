// SPDX-License-Identifier: Apache-2.0
//! `kill -9` at random points: every acknowledged record is stored after the next start.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, SystemTime};

use arrowsmith_load::{Chunk, Options, Rate, Source};
use arrowsmith_workload::SplitMix64;

use crate::ingest::service::{Service, assert_all, go, parquet_files, parquet_ids, times};

const RECORDS_PER_SECOND: u64 = 20_000;

/// Pseudo-random numbers; the seed is printed, so that a failure can be reproduced.
fn seeded() -> SplitMix64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = times("ARROWSMITH_SEED", now.as_secs(), now.as_secs());
    eprintln!("ARROWSMITH_SEED={seed}");
    SplitMix64::new(seed as u64)
}

/// Kills the service repeatedly while records arrive, then stops it in order. `ids` finds what is
/// stored.
fn killed(
    mut service: Service,
    target: impl Fn(&Service) -> Options,
    ids: impl FnOnce(&mut Service) -> Vec<i64>,
) {
    let kills = times("ARROWSMITH_KILLS", 3, 50);
    let records = RECORDS_PER_SECOND * (kills as u64 + 1) / 2;
    let mut random = seeded();
    let options = Options {
        rate: Some(Rate::RecordsPerSecond(RECORDS_PER_SECOND as f64)),
        retry: Duration::from_secs(120),
        ..target(&service)
    };
    let sender = thread::spawn(move || go(&options));
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(random.below(700)));
        service.kill();
        service.run();
    }
    let report = sender.join().unwrap();
    assert_eq!(report.acknowledged_records, Some(records), "{report:?}");
    assert_eq!(report.incomplete_connections, 0);
    assert!(report.connections > 1, "no kill interrupted the sender: {report:?}");
    service.assert_memory(64 << 20);
    let summary = service.end();
    assert_eq!((summary["rejected"], summary["spooled"]), (0, 0), "{summary:?}");
    let again = assert_all(&ids(&mut service), 0..records) as u64;
    // Only unacknowledged records were sent again, and the service itself duplicates none.
    assert!(again <= report.resent_records, "{again} more of {}", report.resent_records);
    let log = service.log();
    assert!(!log.contains("panicked"), "{log}");
}

fn records() -> u64 {
    RECORDS_PER_SECOND * (times("ARROWSMITH_KILLS", 3, 50) as u64 + 1) / 2
}

#[test]
fn nothing_acknowledged_over_tcp_is_lost() {
    let service = Service::start("", "acknowledge = true", "");
    let target =
        |service: &Service| Options { acknowledge: true, ..service.load(0..records(), 50) };
    killed(service, target, |service| service.ids());
}

#[test]
fn nothing_acknowledged_over_http_is_lost_with_a_spool() {
    let spool = "[stream.s.spool]\npath = 'spool'\nwhen = 'always'\nfsync = 'never'\n";
    let service = Service::start("", "", spool);
    let target = |service: &Service| {
        let target = format!("http://127.0.0.1:{}/v1/s", service.http);
        crate::ingest::service::load(&target, 0..records(), 100)
    };
    killed(service, target, |service| service.ids());
}

/// A service whose records have a key, by which they are in folders.
fn in_folders(sink: &str) -> Service {
    let sink = format!(
        "[[stream.s.sink]]\ntype = 'directory'\nformat = 'parquet'\npartition_by = ['key']\n\
         roll_seconds = 0.3\nroll_bytes = '100KB'\nfsync = 'never'\n{sink}\n"
    );
    Service::of("id: int64 not null, key: utf8", "", "acknowledge = true", &sink)
}

/// The key of a record, if it has one, as a part of its JSON.
fn key(id: u64) -> Option<String> {
    (!id.is_multiple_of(7)).then(|| format!("k/{}", id % 7))
}

/// Records `{"id":N,"key":"k/M"}`.
fn keyed(service: &Service) -> Options {
    let line = |id: u64| match key(id) {
        Some(key) => format!("{{\"id\":{id},\"key\":\"{key}\"}}\n"),
        None => format!("{{\"id\":{id}}}\n"),
    };
    let chunks = (0..records()).step_by(50).map(|start| {
        let end = (start + 50).min(records());
        Chunk { text: (start..end).map(line).collect::<String>().into(), records: end - start }
    });
    let source = Source::Repeated(chunks.collect());
    Options { acknowledge: true, source, ..service.load(0..records(), 50) }
}

/// The records of files by their paths, which have to be in the folders of their keys.
fn ids_in(files: BTreeMap<String, Vec<u8>>) -> Vec<i64> {
    let mut all = Vec::new();
    for (path, bytes) in files {
        let (folder, name) = path.rsplit_once('/').unwrap();
        assert!(name.starts_with("s-") && name.ends_with(".parquet"), "{path}");
        for id in parquet_ids(&bytes) {
            let key = key(u64::try_from(id).unwrap()).map(|key| key.replace('/', "%2F"));
            let key = key.unwrap_or_else(|| "__HIVE_DEFAULT_PARTITION__".to_owned());
            assert_eq!(folder, format!("key={key}"), "{id}");
            all.push(id);
        }
    }
    all
}

#[test]
fn nothing_acknowledged_is_lost_in_folders() {
    let mut service = in_folders("path = 'out'");
    service.run();
    killed(service, keyed, |service| ids_in(parquet_files(&service.path("out"))));
}

#[cfg(feature = "store")]
#[test]
fn nothing_acknowledged_is_lost_in_a_store() {
    use crate::ingest::s3::{BUCKET, S3};

    let s3 = S3::start();
    let mut service = in_folders(&format!("path = 's3://{BUCKET}/a/t'\nstate = 'state'"));
    service.environment = s3.environment();
    service.run();
    killed(service, keyed, |service| {
        // Where an upload failed at the end, the next start uploads what is left.
        let left = |service: &Service| {
            let names = std::fs::read_dir(service.path("state")).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.ends_with(".file") || name.ends_with(".set")).count()
        };
        for _ in 0..20 {
            if left(service) > 0 {
                assert!(service.log().contains("files wait in state"), "{}", service.log());
                service.run();
                service.end();
            }
        }
        assert_eq!(left(service), 0);
        let below = |path: String| path.strip_prefix("a/t/").unwrap().to_owned();
        ids_in(s3.objects().into_iter().map(|(path, bytes)| (below(path), bytes)).collect())
    });
    assert!(s3.failures() >= 3, "each kind of failure: {}", s3.failures());
}
