// SPDX-License-Identifier: Apache-2.0
//! Records that were left out, as lines of JSON: whole, with reason and place.
//!
//! The form is that of `arrowsmith convert --rejects`. A file is begun anew at a size; none is ever
//! removed. What cannot be written is kept and tried again: nothing is settled before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use arrowsmith_core::Reject;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::files::cut;

/// Size at which a file ends, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    source: Option<&'a str>,
    record: u64,
    line: u64,
    offset: u64,
    path: &'a str,
    kind: &'static str,
    expected: &'a str,
    found: &'a str,
    kept_as_null: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// Of bytes that are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_base64: Option<String>,
}

impl<'a> Line<'a> {
    /// All of a reject, or all but its text.
    pub(crate) fn new(reject: &'a Reject, with_text: bool) -> Self {
        let error = &reject.error;
        let text = str::from_utf8(&reject.record).ok();
        Self {
            source: error.position.source.as_deref(),
            record: error.position.record,
            line: error.position.line,
            offset: error.position.offset,
            path: &error.path,
            kind: error.kind.name(),
            expected: &error.expected,
            found: &error.found,
            kept_as_null: reject.kept_as_null,
            text: text.filter(|_| with_text),
            text_base64: (with_text && text.is_none())
                .then(|| BASE64_STANDARD.encode(&reject.record)),
        }
    }
}

/// The file of rejects of a stream; made when there is one.
pub(crate) struct Rejects {
    folder: PathBuf,
    stream: String,
    file: Option<File>,
    bytes: u64,
}

impl Rejects {
    pub(crate) fn new(folder: PathBuf, stream: &str) -> Self {
        Self { folder, stream: stream.to_owned(), file: None, bytes: 0 }
    }

    /// Where the rejects are.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.rejects.jsonl", self.stream))
    }

    /// Adds rejects, all or none.
    pub(crate) fn add(&mut self, rejects: &[Reject]) -> io::Result<()> {
        let mut text = Vec::new();
        for reject in rejects {
            serde_json::to_writer(&mut text, &Line::new(reject, true))?;
            text.push(b'\n');
        }
        if self.bytes >= FILE_BYTES_MAX {
            self.roll()?;
        }
        let path = self.path();
        if self.file.is_none() {
            fs::create_dir_all(&self.folder)?;
            let file = File::options().create(true).append(true).open(&path)?;
            self.bytes = file.metadata()?.len();
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Err(error) = file.write_all(&text) {
            // So that no half of a line stays before the whole ones that follow.
            let restored = cut(file, &path, self.bytes);
            self.file = None;
            restored?;
            return Err(error);
        }
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        self.file = None;
        for number in 1_u64.. {
            let to = self.folder.join(format!("{}.rejects-{number}.jsonl", self.stream));
            if !to.exists() {
                fs::rename(self.path(), to)?;
                break;
            }
        }
        self.bytes = 0;
        Ok(())
    }

    /// Tells the disk to write.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::sync_data)
    }
}
