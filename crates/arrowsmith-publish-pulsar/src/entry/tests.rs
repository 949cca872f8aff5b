// SPDX-License-Identifier: Apache-2.0
//! Entries: limits, batches, keys, and that what comes out is what went in.

use super::*;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use prost::Message as _;
use pulsar::message::Codec;
use tokio_util::codec::Decoder;

use crate::wire::Outbox;

type Reply = oneshot::Receiver<Result<Receipt>>;

fn item(sequence: u64, key: Option<&str>, payload: &[u8]) -> (Item, Reply) {
    let (reply, receipt) = oneshot::channel();
    let item = Item {
        sequence,
        key: key.map(str::to_owned),
        properties: vec![("p".to_owned(), sequence.to_string())],
        event_time: Some(5),
        payload: Bytes::copy_from_slice(payload),
        deadline: Instant::now() + Duration::from_secs(1),
        reply,
    };
    (item, receipt)
}

fn packer(compression: Compression, batch: Batch) -> Packer {
    Packer::new("name".to_owned(), compression, batch, 1 << 20)
}

fn batches(messages_max: usize, bytes_max: usize) -> Batch {
    Batch { enabled: true, messages_max, bytes_max, delay_max_ms: 10 }
}

fn body_of(sequence: u64, size: usize) -> Vec<u8> {
    vec![sequence.to_le_bytes()[0]; size]
}

/// What a broker would read.
fn decode(entry: &Entry) -> pulsar::message::Message {
    let mut outbox = Outbox::default();
    outbox.push_frame(&entry.frame);
    let mut bytes = BytesMut::new();
    while outbox.has_remaining() {
        bytes.extend_from_slice(outbox.chunk());
        outbox.advance(outbox.chunk().len());
    }
    Codec.decode(&mut bytes).unwrap().unwrap()
}

/// The messages of a batch: sequence, key, property, payload.
fn singles(mut payload: &[u8]) -> Vec<(u64, Option<String>, String, Vec<u8>)> {
    let mut found = Vec::new();
    while !payload.is_empty() {
        let length = payload.get_u32() as usize;
        let metadata = SingleMessageMetadata::decode(&payload[..length]).unwrap();
        payload.advance(length);
        let body = payload[..metadata.payload_size as usize].to_vec();
        payload.advance(body.len());
        let property = metadata.properties[0].value.clone();
        found.push((metadata.sequence_id.unwrap(), metadata.partition_key, property, body));
    }
    found
}

#[test]
fn a_message_alone_carries_its_metadata_and_its_bytes() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let mut packer = packer(compression, Batch::default());
        let mut ready = Vec::new();
        let text = b"abcd".repeat(100);
        let (item, _receipt) = item(7, Some("k"), &text);
        packer.push(item, &mut ready);
        let [entry] = ready.as_slice() else { panic!("{} entries", ready.len()) };
        let message = decode(entry);
        let send = message.command.send.unwrap();
        assert_eq!((send.sequence_id, send.num_messages), (7, Some(1)));
        let payload = message.payload.unwrap();
        assert_eq!(payload.metadata.partition_key.as_deref(), Some("k"));
        assert_eq!(payload.metadata.event_time, Some(5));
        assert_eq!(payload.metadata.properties[0].value, "7");
        assert_eq!(payload.metadata.num_messages_in_batch, None);
        let plain = match compression {
            Compression::None => payload.data,
            Compression::Lz4 => lz4_flex::block::decompress(&payload.data, text.len()).unwrap(),
            Compression::Zstd => zstd::bulk::decompress(&payload.data, text.len()).unwrap(),
        };
        assert_eq!(plain, text);
        let stated = payload.metadata.uncompressed_size;
        assert_eq!(stated, (compression != Compression::None).then_some(400));
    }
}

#[test]
fn what_compression_makes_larger_goes_as_it_is() {
    let mut ready = Vec::new();
    packer(Compression::Lz4, Batch::default()).push(item(1, None, b"\x01\x99").0, &mut ready);
    let payload = decode(&ready[0]).payload.unwrap();
    assert_eq!((payload.data.as_slice(), payload.metadata.compression), (&b"\x01\x99"[..], None));
}

#[test]
fn a_message_over_the_limit_is_told_so_and_one_at_the_limit_goes() {
    let mut packer = packer(Compression::None, Batch::default());
    packer.message_bytes_max = 16 << 10;
    let mut ready = Vec::new();
    let (large, mut receipt) = item(1, None, &vec![0; 16 << 10]);
    packer.push(large, &mut ready);
    assert!(ready.is_empty());
    match receipt.try_recv().unwrap() {
        Err(PulsarError::TooLarge { bytes, bytes_max }) => {
            assert!(bytes > bytes_max && bytes_max == 16 << 10);
        }
        other => panic!("{other:?}"),
    }
    let (fits, _receipt) = item(2, None, &vec![0; (16 << 10) - 100]);
    packer.push(fits, &mut ready);
    assert_eq!(ready.len(), 1);
    // Metadata that no frame has room for.
    let (mut chatty, mut receipt) = item(3, None, b"");
    chatty.properties.push(("long".to_owned(), "x".repeat(11 << 10)));
    packer.push(chatty, &mut ready);
    assert_eq!(ready.len(), 1);
    assert!(matches!(receipt.try_recv().unwrap(), Err(PulsarError::TooLarge { .. })));
}

#[test]
fn batches_close_when_full_by_messages_by_bytes_and_by_key() {
    let close_sizes = |batch: Batch, keys: &[Option<&str>], size: usize| {
        let mut packer = packer(Compression::None, batch);
        let mut ready = Vec::new();
        let mut receipts = Vec::new();
        for (sequence, key) in (10..).zip(keys) {
            let (item, receipt) = item(sequence, *key, &body_of(sequence, size));
            receipts.push(receipt);
            packer.push(item, &mut ready);
        }
        ready.extend(packer.close());
        assert_eq!(packer.waiting(), (0, 0));
        let mut all = Vec::new();
        let mut sizes = Vec::new();
        for entry in ready {
            let message = decode(&entry);
            let (send, payload) = (message.command.send.unwrap(), message.payload.unwrap());
            let found = singles(&payload.data);
            assert_eq!(send.num_messages, i32::try_from(found.len()).ok());
            assert_eq!(payload.metadata.num_messages_in_batch, send.num_messages);
            assert_eq!(send.sequence_id, found[0].0);
            assert_eq!(send.highest_sequence_id, Some(found.last().unwrap().0));
            assert!(found.iter().all(|single| single.1 == payload.metadata.partition_key));
            sizes.push(found.len());
            all.extend(found);
            entry.settle(&Ok(Receipt { place: Some((1, 2)) }));
        }
        for (index, (sequence, key, property, body)) in all.into_iter().enumerate() {
            assert_eq!(sequence, 10 + index as u64);
            assert_eq!(property, sequence.to_string());
            assert_eq!(key.as_deref(), keys[index]);
            assert_eq!(body, body_of(sequence, size));
        }
        for mut receipt in receipts {
            assert_eq!(receipt.try_recv().unwrap().unwrap().place, Some((1, 2)));
        }
        sizes
    };
    let none = [None; 7];
    assert_eq!(close_sizes(batches(3, 1 << 20), &none, 1), [3, 3, 1]);
    assert_eq!(close_sizes(batches(100, 1_000), &none, 400), [2, 2, 2, 1]);
    assert_eq!(close_sizes(batches(100, 10), &none, 400), [1; 7]);
    let keys = [Some("a"), Some("a"), Some("b"), None, None, Some("a"), Some("a")];
    assert_eq!(close_sizes(batches(100, 1 << 20), &keys, 1), [2, 1, 2, 2]);
    assert_eq!(close_sizes(batches(100, 1 << 20), &[], 1), [0_usize; 0]);
}

#[test]
fn the_open_batch_can_be_given_back() {
    let mut packer = packer(Compression::None, batches(100, 1 << 20));
    let mut ready = Vec::new();
    for sequence in 0..3 {
        packer.push(item(sequence, None, b"x").0, &mut ready);
    }
    assert!(ready.is_empty() && packer.due().is_some() && packer.waiting().0 == 3);
    let sequences: Vec<u64> = packer.give_back().iter().map(|item| item.sequence).collect();
    assert_eq!(sequences, [0, 1, 2]);
    assert!(packer.due().is_none() && packer.close().is_none());
}

#[test]
fn a_second_one_may_wait_for_a_message_that_is_on_its_way() {
    let mut packer = packer(Compression::None, Batch::default());
    let mut ready = Vec::new();
    let (first, mut first_receipt) = item(4, None, b"x");
    packer.push(first, &mut ready);
    let mut entry = ready.remove(0);
    let (again, mut second_receipt) = item(4, None, b"x");
    assert!(entry.join(again).is_none());
    assert_eq!(entry.join(item(5, None, b"x").0).map(|item| item.sequence), Some(5));
    entry.settle(&Err(PulsarError::Closed));
    assert!(first_receipt.try_recv().unwrap().is_err());
    assert!(second_receipt.try_recv().unwrap().is_err());
}
