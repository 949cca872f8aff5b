// SPDX-License-Identifier: Apache-2.0
//! The inputs of a pipeline: those that it opens itself, or sources that are open already.

use std::sync::Arc;

use arrowsmith_core::Result;
use arrowsmith_source::{Content, Input, OpenOptions, Source, Spooled};

/// One input of a pipeline. Inputs are opened in turn, so that thousands of files need one
/// descriptor; after sampling, streams are open already and start with the sampled bytes.
#[derive(Debug)]
pub struct Origin(Kind);

#[derive(Debug)]
enum Kind {
    Closed(Input),
    Open(Source),
    /// A stream that is kept, its name and the offset of its first byte.
    Spooled(Option<Arc<str>>, Spooled, u64),
}

impl From<Input> for Origin {
    fn from(input: Input) -> Self {
        Self(Kind::Closed(input))
    }
}

impl From<Source> for Origin {
    fn from(source: Source) -> Self {
        Self(Kind::Open(source))
    }
}

impl Origin {
    /// A stream that is kept, from its start.
    pub(crate) fn spooled(name: Option<Arc<str>>, spooled: Spooled, offset: u64) -> Self {
        Self(Kind::Spooled(name, spooled, offset))
    }

    pub(crate) fn open(self, options: &OpenOptions) -> Result<Source> {
        match self.0 {
            Kind::Closed(input) => input.open(options),
            Kind::Open(source) => Ok(source),
            Kind::Spooled(name, spooled, offset) => {
                Ok(Source { name, content: Content::Stream(Box::new(spooled)), offset })
            }
        }
    }

    /// The input, if it is not open yet and can be read twice.
    pub(crate) fn input(&self) -> Option<Input> {
        match &self.0 {
            Kind::Closed(input) => input.again(),
            Kind::Open(_) | Kind::Spooled(..) => None,
        }
    }

    /// A second handle to the same bytes, if they can be read twice.
    pub(crate) fn again(&self) -> Option<Self> {
        match &self.0 {
            Kind::Closed(input) => input.again().map(Self::from),
            Kind::Open(Source { name, content: Content::Whole(bytes), offset }) => {
                let (name, content) = (name.clone(), Content::Whole(Arc::clone(bytes)));
                Some(Self(Kind::Open(Source { name, content, offset: *offset })))
            }
            Kind::Open(_) => None,
            Kind::Spooled(name, spooled, offset) => {
                Some(Self(Kind::Spooled(name.clone(), spooled.again()?, *offset)))
            }
        }
    }

    /// Whether opening or reading it may block: not for bytes in memory.
    pub(crate) fn may_wait(&self) -> bool {
        !matches!(
            &self.0,
            Kind::Closed(Input::Bytes { .. })
                | Kind::Open(Source { content: Content::Whole(_), .. })
        )
    }

    /// Bytes that reading it will count; `None` where that is not known.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        match &self.0 {
            Kind::Closed(input) => input.stored_bytes(),
            Kind::Open(Source { content: Content::Whole(bytes), .. }) => {
                Some((**bytes).as_ref().len() as u64)
            }
            Kind::Open(_) | Kind::Spooled(..) => None,
        }
    }
}
