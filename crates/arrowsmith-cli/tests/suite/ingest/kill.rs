// SPDX-License-Identifier: Apache-2.0
//! `kill -9` at random points: every acknowledged record is stored after the next start.

use std::thread;
use std::time::{Duration, SystemTime};

use arrowsmith_load::{Options, Rate};
use arrowsmith_workload::SplitMix64;

use crate::ingest::service::{Service, assert_all, go, times};

const RECORDS_PER_SECOND: u64 = 20_000;

/// Pseudo-random numbers; the seed is printed, so that a failure can be reproduced.
fn seeded() -> SplitMix64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = times("ARROWSMITH_SEED", now.as_secs(), now.as_secs());
    eprintln!("ARROWSMITH_SEED={seed}");
    SplitMix64::new(seed as u64)
}

/// Kills the service repeatedly while records arrive, then stops it in order.
fn killed(mut service: Service, target: impl Fn(&Service) -> Options) {
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
    let again = assert_all(&service.ids(), 0..records) as u64;
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
    killed(service, |service| Options { acknowledge: true, ..service.load(0..records(), 50) });
}

#[test]
fn nothing_acknowledged_over_http_is_lost_with_a_spool() {
    let spool = "[stream.s.spool]\npath = 'spool'\nwhen = 'always'\nfsync = 'never'\n";
    let service = Service::start("", "", spool);
    killed(service, |service| {
        let target = format!("http://127.0.0.1:{}/v1/s", service.http);
        crate::ingest::service::load(&target, 0..records(), 100)
    });
}
