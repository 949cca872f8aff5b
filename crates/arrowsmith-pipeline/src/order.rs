// SPDX-License-Identifier: Apache-2.0
//! Restores the order of the decoder threads' outputs: makes positions absolute, passes rejects on,
//! counts rows, resizes batches. It runs on the consumer's thread, so callbacks need no locks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use arrowsmith_core::{DataError, Error, ErrorKind, Reject, Result};

use crate::Progress;
use crate::earlier::Earlier;
use crate::rebatch::Rebatch;
use crate::select::Window;
use crate::work::Output;

/// Receives rejects in the order of the input.
pub(crate) type OnReject = Box<dyn FnMut(Reject) + Send>;

/// Outputs in, batches out.
pub(crate) struct Assembler {
    rebatch: Rebatch,
    window: Window,
    on_reject: Option<OnReject>,
    hint: Option<String>,
    progress: Arc<Progress>,
    /// Records and line ends of the current source that came before the next piece.
    records: u64,
    lines: u64,
    /// What comes before the byte range that is read.
    earlier: Option<Earlier>,
    /// The first value that made the schema grow.
    late: Option<Box<DataError>>,
    /// Whether keys that the schema lacks end everything, however bad records are handled.
    late_keys_fail: bool,
    /// Why rows are missing, of which the condition could not be decided.
    refused: Option<Error>,
    error: Option<Error>,
    ended: bool,
}

impl Assembler {
    pub(crate) fn new(
        rebatch: Rebatch,
        on_reject: Option<OnReject>,
        hint: Option<String>,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            rebatch,
            window: Window::default(),
            on_reject,
            hint,
            progress,
            records: 0,
            lines: 0,
            earlier: None,
            late: None,
            late_keys_fail: false,
            refused: None,
            error: None,
            ended: false,
        }
    }

    /// Ends at the first key that the schema lacks, however bad records are handled.
    pub(crate) fn with_late_keys_fail(mut self, fail: bool) -> Self {
        self.late_keys_fail = fail;
        self
    }

    /// Makes positions those of the whole input, of which this is what comes before the range read.
    pub(crate) fn after(mut self, earlier: Option<Earlier>) -> Self {
        self.earlier = earlier;
        self
    }

    /// Returns only the rows of this window.
    pub(crate) fn within(mut self, window: Window) -> Self {
        self.ended |= window.is_over();
        self.window = window;
        self
    }

    /// Why rows are missing, of which the condition could not be decided.
    pub(crate) fn take_refused(&mut self) -> Option<Error> {
        self.refused.take()
    }

    /// The first value that made the schema grow.
    pub(crate) fn late(&self) -> Option<&DataError> {
        self.late.as_deref()
    }

    /// Adds the next output in order.
    pub(crate) fn push(&mut self, output: Output) {
        if output.first {
            self.records = 0;
            self.lines = 0;
        }
        self.lines += output.lines_before;
        // What comes after the last row that is wanted does not count, whatever it is.
        let last = self.window.last_record(&output);
        if output.report.left_out > 0 {
            self.progress.left_out.fetch_add(output.report.left_out, Ordering::Relaxed);
            if let Some(key) = output.report.left_out_key {
                self.progress.left_out_key.get_or_init(|| key);
            }
        }
        if let Some(mut late) = output.late
            && self.late.is_none()
        {
            self.complete(&mut late);
            self.late = Some(late);
        }
        for mut reject in output.report.rejects {
            if last.is_some_and(|last| reject.error.position.record > last) {
                break;
            }
            self.complete(&mut reject.error);
            if self.late_keys_fail && reject.error.kind == ErrorKind::UnknownKey {
                return self.fail(reject.error.into());
            }
            self.progress.rejects.fetch_add(1, Ordering::Relaxed);
            if let Some(on_reject) = &mut self.on_reject {
                on_reject(reject);
            }
        }
        self.progress.filtered.fetch_add(output.filtered, Ordering::Relaxed);
        if let Some(refused) = output.refused {
            self.refused.get_or_insert(refused);
        }
        for batch in output.batches {
            let batch = match self.window.take(&batch, self.records) {
                Ok(Some(batch)) => batch,
                Ok(None) => continue,
                Err(error) => return self.fail(error),
            };
            self.progress.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            self.rebatch.push(batch);
        }
        if self.window.is_over() {
            return self.end();
        }
        if let Some(mut error) = output.error {
            if let Error::Data(data) = &mut error {
                self.complete(data);
            }
            self.fail(error);
        }
        self.records += output.report.records;
        self.lines += output.report.lines + output.lines_after;
    }

    /// Ends with this error.
    pub(crate) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
        self.ended = true;
    }

    /// Ends.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next batch; after the last one the error, once.
    pub(crate) fn pop(&mut self) -> Option<Result<RecordBatch>> {
        match self.rebatch.pop(self.ended) {
            Ok(Some(batch)) => Some(Ok(batch)),
            Ok(None) => {
                if self.ended {
                    self.error.take().map(Err)
                } else {
                    None
                }
            }
            Err(error) => {
                self.fail(error);
                self.error.take().map(Err)
            }
        }
    }

    /// Adds what is known only here: the position of earlier pieces, and whether the schema was
    /// inferred.
    fn complete(&self, error: &mut DataError) {
        error.position.record += self.records;
        error.position.line += self.lines;
        if let Some(earlier) = &self.earlier {
            earlier.complete(error);
        }
        let guessed = matches!(
            error.kind,
            ErrorKind::WrongType
                | ErrorKind::Overflow
                | ErrorKind::Inexact
                | ErrorKind::InvalidValue
                | ErrorKind::LengthMismatch
                | ErrorKind::MissingField
                | ErrorKind::UnknownKey
        );
        if guessed && error.hint.is_none() {
            error.hint.clone_from(&self.hint);
        }
    }
}
