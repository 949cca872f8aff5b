// SPDX-License-Identifier: Apache-2.0
//! Frames of Pulsar's binary protocol: commands, and messages whose payload is never copied.
//!
//! The message types and the decoder are the crate `pulsar`'s. What is made here is the frame of a
//! message: that crate copies a payload four times on its way to the socket, computes its checksum
//! a byte at a time, and chooses sequence ids itself. This module does no I/O.
//!
//! A frame is `[total size][command size][command]`, and for a message after that
//! `[0x0e01][CRC-32C of what follows][metadata size][metadata][payload]`; sizes are 32 bits,
//! big-endian. (Pulsar binary protocol specification, "Framing".)

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message as _;
use pulsar::error::ConnectionError;
use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::{BaseCommand, CommandSend, MessageMetadata, SingleMessageMetadata};
use pulsar::message::{Codec, Message};
use tokio_util::codec::Decoder;

/// Marks that a checksum follows.
const MAGIC_CRC32C: u16 = 0x0e01;

/// Maximum size of a response: a broker sends names, numbers and reasons.
pub(crate) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A size that is known to fit: every frame is checked against the limit of the broker, which is
/// an `i32`, before it is made.
fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The frame of a command without payload.
pub(crate) fn command_frame(command: &BaseCommand) -> Bytes {
    let length = command.encoded_len();
    // Bounded: by the command, which is here.
    let mut frame = BytesMut::with_capacity(length + 8);
    frame.put_u32(size(length + 4));
    frame.put_u32(size(length));
    command.encode_raw(&mut frame);
    frame.freeze()
}

/// The frame of a message: its head, then the pieces of the payload as they are.
pub(crate) fn message_frame(
    send: CommandSend,
    metadata: &MessageMetadata,
    payload: impl IntoIterator<Item = Bytes>,
) -> Frame {
    let payload: Vec<Bytes> = payload.into_iter().collect();
    let payload_bytes: usize = payload.iter().map(Bytes::len).sum();
    let command =
        BaseCommand { r#type: i32::from(Type::Send), send: Some(send), ..BaseCommand::default() };
    let (command_bytes, metadata_bytes) = (command.encoded_len(), metadata.encoded_len());
    // Command size, command, magic number, checksum, metadata size, metadata.
    let head_bytes = 4 + command_bytes + 2 + 4 + 4 + metadata_bytes;
    // Bounded: by the command and the metadata, which are here.
    let mut head = BytesMut::with_capacity(4 + head_bytes);
    head.put_u32(size(head_bytes + payload_bytes));
    head.put_u32(size(command_bytes));
    command.encode_raw(&mut head);
    head.put_u16(MAGIC_CRC32C);
    let checksum_at = head.len();
    head.put_u32(0);
    head.put_u32(size(metadata_bytes));
    metadata.encode_raw(&mut head);
    let mut checksum = crc32c::crc32c(&head[checksum_at + 4..]);
    for piece in &payload {
        checksum = crc32c::crc32c_append(checksum, piece);
    }
    head[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_be_bytes());
    let mut pieces = Vec::with_capacity(payload.len() + 1);
    pieces.push(head.freeze());
    pieces.extend(payload);
    Frame { pieces }
}

/// The prefix of each message of a batch: the size of its metadata, and the metadata.
pub(crate) fn batch_head(metadata: &SingleMessageMetadata) -> Bytes {
    let length = metadata.encoded_len();
    // Bounded: by the metadata, which is here.
    let mut head = BytesMut::with_capacity(length + 4);
    head.put_u32(size(length));
    metadata.encode_raw(&mut head);
    head.freeze()
}

/// A frame ready to be written, as often as needed: its clones share the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pieces: Vec<Bytes>,
}

/// Frames on their way to the socket, written without a copy.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push_back(piece);
        }
    }

    pub(crate) fn push_frame(&mut self, frame: &Frame) {
        for piece in &frame.pieces {
            self.push(piece.clone());
        }
    }
}

impl Buf for Outbox {
    fn remaining(&self) -> usize {
        self.bytes
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    fn advance(&mut self, bytes: usize) {
        let mut rest = bytes.min(self.bytes);
        self.bytes -= rest;
        while rest > 0 {
            let Some(piece) = self.pieces.front_mut() else { return };
            if piece.len() > rest {
                piece.advance(rest);
                return;
            }
            rest -= piece.len();
            self.pieces.pop_front();
        }
    }
}

/// The decoder of the crate `pulsar`, after a check of the frame's declared size.
pub(crate) struct Answers {
    /// Maximum size of a frame, in bytes.
    pub(crate) frame_bytes_max: usize,
}

impl Decoder for Answers {
    type Item = Message;
    type Error = ConnectionError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Message>, ConnectionError> {
        let Some(&[a, b, c, d]) = bytes.first_chunk() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if !(4..=self.frame_bytes_max).contains(&length) {
            return Err(ConnectionError::Decoding(format!(
                "a frame of {length} bytes, which is not between 4 and {}: is this a Pulsar broker?",
                self.frame_bytes_max
            )));
        }
        if bytes.len() < 4 + length {
            // Bounded: by the largest frame that was agreed on.
            bytes.reserve(4 + length - bytes.len());
            return Ok(None);
        }
        Codec.decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulsar::message::proto::CommandPing;

    fn answers() -> Answers {
        Answers { frame_bytes_max: ANSWER_BYTES_MAX }
    }

    fn sent() -> (CommandSend, MessageMetadata) {
        let send = CommandSend { producer_id: 3, sequence_id: 9, ..CommandSend::default() };
        let metadata = MessageMetadata {
            producer_name: "p".to_owned(),
            sequence_id: 9,
            publish_time: 1,
            ..MessageMetadata::default()
        };
        (send, metadata)
    }

    fn drain(outbox: &mut Outbox, step: usize) -> BytesMut {
        let mut out = BytesMut::new();
        while outbox.has_remaining() {
            let chunk = outbox.chunk();
            let length = chunk.len().min(step);
            out.extend_from_slice(&chunk[..length]);
            outbox.advance(length);
        }
        out
    }

    #[test]
    fn the_decoder_of_the_pulsar_crate_reads_a_message_with_its_checksum() {
        for step in [1, 7, 1 << 20] {
            let (send, metadata) = sent();
            let pieces = [Bytes::from_static(b"hello "), Bytes::new(), Bytes::from_static(b"you")];
            let mut outbox = Outbox::default();
            outbox.push_frame(&message_frame(send, &metadata, pieces));
            let mut bytes = drain(&mut outbox, step);
            let message = Codec.decode(&mut bytes).unwrap().unwrap();
            assert!(bytes.is_empty());
            let payload = message.payload.unwrap();
            assert_eq!(payload.data, b"hello you");
            assert_eq!(payload.metadata, metadata);
            assert_eq!(message.command.send, Some(send));
        }
    }

    #[test]
    fn vectored_chunks_are_the_bytes_in_order() {
        let mut outbox = Outbox::default();
        for piece in [&b"ab"[..], b"", b"cde", b"f"] {
            outbox.push(Bytes::from_static(piece));
        }
        outbox.advance(1);
        let mut slices = [IoSlice::new(b""); 2];
        assert_eq!(outbox.chunks_vectored(&mut slices), 2);
        assert_eq!((&*slices[0], &*slices[1]), (&b"b"[..], &b"cde"[..]));
        assert_eq!(outbox.remaining(), 5);
        outbox.advance(100);
        assert_eq!((outbox.remaining(), outbox.chunk()), (0, &b""[..]));
    }

    #[test]
    fn sizes_that_no_broker_sends_are_refused_before_they_are_allocated() {
        for length in [0_u32, 3, 1 << 21, u32::MAX] {
            let mut bytes = BytesMut::new();
            bytes.put_u32(length);
            bytes.put_u32(1);
            assert!(answers().decode(&mut bytes).is_err(), "{length}");
        }
        let mut bytes = BytesMut::from(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]);
        assert!(answers().decode(&mut bytes).is_err());
    }

    #[test]
    fn every_prefix_of_a_command_waits_for_more() {
        let ping = BaseCommand {
            r#type: i32::from(Type::Ping),
            ping: Some(CommandPing {}),
            ..BaseCommand::default()
        };
        let frame = command_frame(&ping);
        for end in 0..frame.len() {
            let mut bytes = BytesMut::from(&frame[..end]);
            assert!(answers().decode(&mut bytes).unwrap().is_none());
        }
        let message = answers().decode(&mut BytesMut::from(&frame[..])).unwrap().unwrap();
        assert_eq!(message.command, ping);
    }

    #[test]
    fn any_bytes_are_an_error_and_never_a_panic() {
        let (send, metadata) = sent();
        let mut outbox = Outbox::default();
        outbox.push_frame(&message_frame(send, &metadata, [Bytes::from_static(b"x")]));
        let good = drain(&mut outbox, 1 << 20);
        for at in 0..good.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = value;
                while let Ok(Some(_)) = answers().decode(&mut bytes) {}
            }
        }
    }
}
