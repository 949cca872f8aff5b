// SPDX-License-Identifier: Apache-2.0
//! Tickets and descriptors of the Flight service: nothing that was not sealed opens, and nothing panics.

use std::time::Duration;

use arrow_flight::FlightDescriptor;
use arrowsmith_flight::query::{COMMAND_BYTES_MAX, Query};
use arrowsmith_flight::ticket::{Purpose, Signer};

/// Any bytes as a ticket, as what was sealed, and as descriptors.
pub fn tickets(data: &[u8]) {
    let signer = Signer::new(b"the fuzzer does not know this one", Duration::from_secs(3600));
    assert!(signer.open_read(data).is_err(), "a ticket that nobody sealed");
    for purpose in [Purpose::Read, Purpose::Statement, Purpose::Prepared, Purpose::Bearer] {
        assert!(signer.open(purpose, data).is_err(), "a seal that nobody made");
    }
    // Sealed bytes may say anything: a key that leaked must not be a way to a crash.
    let sealed = signer.seal(Purpose::Read, data);
    if let Ok(ticket) = signer.open_read(&sealed) {
        assert!(ticket.part < ticket.parts);
        assert_eq!(signer.open_read(&signer.read(&ticket)).ok(), Some(ticket));
    }
    let descriptor = FlightDescriptor::new_cmd(data.to_vec());
    if let Ok(query) = Query::of(&descriptor) {
        let command = query.command();
        // Escapes make text longer.
        if command.len() <= COMMAND_BYTES_MAX {
            assert_eq!(Query::parse(&command).ok(), Some(query));
        }
    }
    let path =
        data.split(|byte| *byte == b'/').map(|part| String::from_utf8_lossy(part).into_owned());
    if let Ok(query) = Query::of(&FlightDescriptor::new_path(path.collect())) {
        assert!(query.is_all());
    }
}
