// SPDX-License-Identifier: Apache-2.0
//! HTTP bodies: those of tonic, or messages in segments that are written to the socket without a
//! copy.
//!
//! A DATA frame of HTTP/2 takes one [`Segments`], however many pieces it has; the system gathers
//! them.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::Stream;
use futures_util::stream::BoxStream;
use http::HeaderMap;
use http_body::Frame;
use tonic::Status;

/// Bytes in several pieces.
#[derive(Default)]
pub(crate) struct Segments {
    pieces: VecDeque<Bytes>,
    remaining: usize,
}

impl Segments {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        let remaining = pieces.iter().map(Bytes::len).sum();
        // An empty piece in front would look like the end.
        Self { pieces: pieces.into_iter().filter(|piece| !piece.is_empty()).collect(), remaining }
    }
}

impl Buf for Segments {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece.as_ref())
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        count
    }

    fn advance(&mut self, mut count: usize) {
        self.remaining = self.remaining.saturating_sub(count);
        while count > 0 {
            let Some(first) = self.pieces.front_mut() else { return };
            if first.len() > count {
                first.advance(count);
                return;
            }
            count -= first.len();
            self.pieces.pop_front();
        }
    }
}

/// The body of an answer.
pub(crate) enum Body {
    /// Of tonic's services.
    Tonic(tonic::body::Body),
    /// Of ours: messages, then a status.
    Messages(Option<BoxStream<'static, Result<Segments, Status>>>),
}

impl http_body::Body for Body {
    type Data = Segments;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Segments>, Status>>> {
        match self.get_mut() {
            Self::Tonic(body) => Pin::new(body).poll_frame(cx).map(|frame| {
                frame.map(|frame| {
                    frame.map(|frame| frame.map_data(|bytes| Segments::new(vec![bytes])))
                })
            }),
            Self::Messages(messages) => {
                let Some(stream) = messages else { return Poll::Ready(None) };
                let status = match Pin::new(stream).poll_next(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(segments))) => {
                        return Poll::Ready(Some(Ok(Frame::data(segments))));
                    }
                    Poll::Ready(Some(Err(status))) => status,
                    Poll::Ready(None) => Status::ok(""),
                };
                *messages = None;
                let mut trailers = HeaderMap::new();
                Poll::Ready(Some(match status.add_header(&mut trailers) {
                    Ok(()) => Ok(Frame::trailers(trailers)),
                    Err(error) => Err(error),
                }))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Tonic(body) => body.is_end_stream(),
            Self::Messages(messages) => messages.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_their_bytes() {
        let pieces = ["ab", "", "cde", "f"].map(|piece| Bytes::from_static(piece.as_bytes()));
        for step in 1..=6 {
            let mut segments = Segments::new(pieces.to_vec());
            let mut all = Vec::new();
            while segments.has_remaining() {
                let take = step.min(segments.remaining());
                all.extend_from_slice(&segments.copy_to_bytes(take));
            }
            assert_eq!(all, b"abcdef");
        }
    }
}
