// SPDX-License-Identifier: Apache-2.0
//! Tickets, descriptors and Arrow messages of the Flight service: unsealed tickets are rejected,
//! nothing panics, and a message stays within its memory limit.

use std::sync::Once;
use std::time::Duration;

use arrow_array::Array;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightData, FlightDescriptor};
use arrowsmith_flight::ipc::{Bounds, batches};
use arrowsmith_flight::query::{COMMAND_BYTES_MAX, Query};
use arrowsmith_flight::ticket::{Purpose, Signer};
use futures_util::{FutureExt, StreamExt, stream};

/// Any bytes as a ticket, as sealed content, and as descriptors.
pub fn tickets(data: &[u8]) {
    let signer = Signer::new(b"the fuzzer does not know this one", Duration::from_secs(3600));
    assert!(signer.open_read(data).is_err(), "an unsealed ticket");
    for purpose in [Purpose::Read, Purpose::Statement, Purpose::Prepared, Purpose::Bearer] {
        assert!(signer.open(purpose, data).is_err(), "a forged seal");
    }
    // Sealed bytes may have any content: a leaked key must not allow a crash.
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

/// Maximum bytes of decoded messages: far below the memory of a target.
pub(crate) const DECODED_BYTES_MAX: u64 = 16 << 20;

/// Any bytes as the Arrow messages of a call: a byte for the limits, then for each message the
/// lengths of its header and of its body, two bytes each, then both.
pub fn messages(data: &[u8]) {
    let [how, rest @ ..] = data else { return };
    quiet();
    let compression = how % 2 == 0;
    let bounds = Bounds { decoded_bytes_max: DECODED_BYTES_MAX, compression };
    let messages = framed(rest).map(Ok::<_, FlightError>);
    let messages = stream::iter(messages.collect::<Vec<_>>()).boxed();
    let all = batches(messages, bounds).collect::<Vec<_>>().now_or_never();
    for batch in all.expect("nothing in it waits").into_iter().flatten() {
        for column in batch.columns() {
            assert_eq!(column.len(), batch.num_rows());
            column.to_data().validate_full().expect("arrays are sound");
        }
    }
}

/// Silences panics of the decoder, which the service catches: there are thousands.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|at| at.file().contains("/arrow-")) {
                say(panic);
            }
        }));
    });
}

/// Messages, each preceded by the lengths of its header and of its body; a length that is too large
/// means the rest.
fn framed(mut rest: &[u8]) -> impl Iterator<Item = FlightData> {
    std::iter::from_fn(move || {
        let (lengths, after) = rest.split_first_chunk::<4>()?;
        let [header, body] = [&lengths[..2], &lengths[2..]]
            .map(|two| usize::from(u16::from_le_bytes(two.try_into().expect("two bytes"))));
        let (header, after) = after.split_at(header.min(after.len()));
        let (body, after) = after.split_at(body.min(after.len()));
        rest = after;
        let message = FlightData::new().with_data_header(header.to_vec());
        Some(message.with_data_body(body.to_vec()))
    })
}
