// SPDX-License-Identifier: Apache-2.0
//! gzip: members one after another. Where each says how long it is (BGZF, as `bgzip` writes it: at
//! most 64 KiB of data in a member, SAM specification, section 4.1), several threads decompress.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::num::NonZero;
use std::thread;

use flate2::bufread::MultiGzDecoder;
use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Members that a thread decompresses at once, 256 KiB of data: much less would not be worth a
/// thread, and what reads the data waits for them.
const MEMBERS_PER_THREAD: usize = 4;

/// Maximum threads: these are faster than what reads the data.
const THREADS_MAX: usize = 8;

/// Maximum data of a BGZF member, in bytes.
const DATA_BYTES_MAX: usize = 64 << 10;

/// The part of a header before its extra fields, in bytes.
const HEADER_BYTES: usize = 12;

/// What follows the data: its checksum and its length.
const TRAILER_BYTES: usize = 8;

/// Decompresses gzip.
pub(crate) struct Gzip<R: Read> {
    rest: Rest<R>,
    threads: usize,
    /// Data that was not read yet, from byte `at` of the first part on.
    parts: VecDeque<Vec<u8>>,
    at: usize,
    /// Buffers of data that was read, at most one for each thread.
    used: Vec<Vec<u8>>,
    /// Why there is no more; returned after the data before it.
    failure: Option<io::Error>,
}

/// What was not decompressed yet.
enum Rest<R: Read> {
    /// BGZF members, as far as is known.
    Members(BufReader<R>),
    Stream(Box<MultiGzDecoder<AfterHead<R>>>),
    End,
}

/// A reader of which the start of a member was read already.
type AfterHead<R> = Chain<Cursor<Vec<u8>>, BufReader<R>>;

/// The start of a member.
enum Head {
    /// A BGZF member with this many compressed bytes.
    Member(usize),
    /// Another one, or no gzip: what was read of it.
    Other(Vec<u8>),
    End,
}

/// A BGZF member.
struct Member {
    deflated: Vec<u8>,
    checksum: u32,
    len: usize,
}

impl<R: Read> Gzip<R> {
    /// A decoder that uses up to this many threads where it can; with 0 one for each core.
    pub(crate) fn new(reader: BufReader<R>, threads: usize) -> Self {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            given => given,
        };
        Self {
            rest: Rest::Members(reader),
            threads: threads.min(THREADS_MAX),
            parts: VecDeque::new(),
            at: 0,
            used: Vec::new(),
            failure: None,
        }
    }

    /// Decompresses the members that follow, as far as they have arrived.
    fn fill(&mut self) {
        let Rest::Members(mut reader) = std::mem::replace(&mut self.rest, Rest::End) else {
            return;
        };
        let mut members = Vec::new();
        let rest = loop {
            let arrived = members.is_empty() || !reader.buffer().is_empty();
            if members.len() >= MEMBERS_PER_THREAD * self.threads || !arrived {
                break Ok(Rest::Members(reader));
            }
            match head(&mut reader) {
                Ok(Head::Member(bytes)) => match member(&mut reader, bytes) {
                    Ok(member) => members.push(member),
                    Err(error) => break Err(error),
                },
                Ok(Head::Other(head)) => {
                    let decoder = MultiGzDecoder::new(Cursor::new(head).chain(reader));
                    break Ok(Rest::Stream(Box::new(decoder)));
                }
                Ok(Head::End) => break Ok(Rest::End),
                Err(error) => break Err(error),
            }
        };
        match self.inflate(&members).and(rest) {
            Ok(rest) => self.rest = rest,
            Err(error) => self.failure = Some(error),
        }
    }

    /// Decompresses members, up to the first that cannot be.
    fn inflate(&mut self, members: &[Member]) -> io::Result<()> {
        let mut buffer = || self.used.pop().unwrap_or_default();
        let last = members.len().saturating_sub(1) / MEMBERS_PER_THREAD * MEMBERS_PER_THREAD;
        let (others, last) = members.split_at(last);
        let done = thread::scope(|scope| {
            let work = |part, buffer| move || inflated(part, buffer);
            let threads = others.chunks(MEMBERS_PER_THREAD).map(|part| {
                let started = thread::Builder::new().spawn_scoped(scope, work(part, buffer()));
                (part, started)
            });
            let threads: Vec<_> = threads.collect();
            let last = inflated(last, buffer());
            let mut done = Vec::new();
            for (part, thread) in threads {
                done.push(match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|_| {
                        (Vec::new(), Err(io::Error::other("a thread that decompresses panicked")))
                    }),
                    // There is no other thread.
                    Err(_) => inflated(part, buffer()),
                });
            }
            done.push(last);
            done
        });
        for (data, result) in done {
            if !data.is_empty() {
                self.parts.push_back(data);
            }
            result?;
        }
        Ok(())
    }
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(part) = self.parts.front() {
                let left = part.get(self.at..).unwrap_or_default();
                let read = left.len().min(buffer.len());
                buffer[..read].copy_from_slice(&left[..read]);
                self.at += read;
                if self.at >= part.len() {
                    self.used.extend(self.parts.pop_front());
                    self.at = 0;
                }
                return Ok(read);
            }
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            match &mut self.rest {
                Rest::Members(_) => self.fill(),
                Rest::Stream(decoder) => return decoder.read(buffer),
                Rest::End => return Ok(0),
            }
        }
    }
}

/// Reads the start of a member, up to its data.
fn head(reader: &mut impl BufRead) -> io::Result<Head> {
    let mut head = Vec::new();
    reader.take(HEADER_BYTES as u64).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(Head::End);
    }
    // With extra fields and nothing else that is optional.
    let &[0x1F, 0x8B, 8, 4, _, _, _, _, _, _, low, high] = &head[..] else {
        return Ok(Head::Other(head));
    };
    let extra = usize::from(u16::from_le_bytes([low, high]));
    reader.take(extra as u64).read_to_end(&mut head)?;
    let size = bgzf_size(head.get(HEADER_BYTES..).unwrap_or_default());
    let around = HEADER_BYTES + extra + TRAILER_BYTES;
    Ok(match size.and_then(|size| size.checked_sub(around)) {
        Some(deflated) if head.len() == HEADER_BYTES + extra => Head::Member(deflated),
        _ => Head::Other(head),
    })
}

/// The size of a member by its extra fields, if one of them is that of BGZF.
fn bgzf_size(mut fields: &[u8]) -> Option<usize> {
    while let [one, two, low, high, rest @ ..] = fields {
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let (field, next) = rest.split_at_checked(len)?;
        if let (b'B', b'C', &[low, high]) = (one, two, field) {
            return Some(usize::from(u16::from_le_bytes([low, high])) + 1);
        }
        fields = next;
    }
    None
}

/// Reads the rest of a member, of which `bytes` are compressed data.
fn member(reader: &mut impl BufRead, bytes: usize) -> io::Result<Member> {
    // Bounded: a member has 64 KiB.
    let mut deflated = vec![0; bytes];
    reader.read_exact(&mut deflated)?;
    let mut trailer = [0; TRAILER_BYTES];
    reader.read_exact(&mut trailer)?;
    let [a, b, c, d, e, f, g, h] = trailer;
    let (checksum, len) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let len = usize::try_from(len).ok().filter(|len| *len <= DATA_BYTES_MAX);
    let len = len.ok_or_else(|| corrupt("a BGZF member has more than 64 KiB of data"))?;
    Ok(Member { deflated, checksum, len })
}

/// The data of members, up to the first that is not what its trailer says.
fn inflated(members: &[Member], mut data: Vec<u8>) -> (Vec<u8>, io::Result<()>) {
    data.clear();
    let mut decoder = Decompress::new(false);
    for Member { deflated, checksum, len } in members {
        let start = data.len();
        // Bounded: by 64 KiB for each member. One byte more shows that there is more than it says.
        data.reserve_exact(len + 1);
        decoder.reset(false);
        let status = decoder.decompress_vec(deflated, &mut data, FlushDecompress::Finish);
        let is_whole = matches!(status, Ok(Status::StreamEnd))
            && decoder.total_in() == deflated.len() as u64
            && data.len() == start + len;
        let mut crc = Crc::new();
        crc.update(&data[start..]);
        if !is_whole || crc.sum() != *checksum {
            data.truncate(start);
            return (
                data,
                Err(corrupt("a gzip member is corrupt, or not what its checksum is of")),
            );
        }
    }
    (data, Ok(()))
}

fn corrupt(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
