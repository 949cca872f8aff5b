// SPDX-License-Identifier: Apache-2.0
//! The input options of the command line, in the library's terms. `convert` and `infer` share them.

use std::sync::Arc;

use arrowsmith::json::SampleOptions;
use arrowsmith::{Compression, Framing, Limits};

use crate::args::{CompressionIn, Format, InferenceArgs, InputArgs};
use crate::interrupt::Interrupt;

/// `None` looks at the first bytes.
pub fn framing(format: Format) -> Option<Framing> {
    match format {
        Format::Auto => None,
        Format::Ndjson => Some(Framing::Lines),
        Format::Concatenated => Some(Framing::Concatenated),
        Format::Array => Some(Framing::Array),
    }
}

pub fn compression(compression: CompressionIn) -> Compression {
    match compression {
        CompressionIn::Auto => Compression::Auto,
        CompressionIn::None => Compression::None,
        CompressionIn::Gzip => Compression::Gzip,
        CompressionIn::Zstd => Compression::Zstd,
        CompressionIn::Lz4 => Compression::Lz4,
    }
}

pub fn limits(args: &InputArgs) -> Limits {
    Limits::default().with_depth_max(args.depth_max).with_record_bytes_max(args.record_bytes_max)
}

pub fn sampling(
    args: &InputArgs,
    inference: &InferenceArgs,
    interrupt: &Interrupt,
) -> SampleOptions {
    let mut options = SampleOptions {
        records_max: inference.infer_records.0.map(|records| records.get()),
        framing: framing(args.format),
        limits: limits(args),
        cancel: Arc::clone(interrupt.stop()),
        ..SampleOptions::default()
    };
    options.open.compression = compression(args.compression_in);
    options.infer.timestamps = inference.infer_timestamps;
    options.infer.allow_nan = args.allow_nan;
    options
}
