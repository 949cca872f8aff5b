// SPDX-License-Identifier: Apache-2.0
//! JSON → Arrow on a device. `program` is the plan as tables, which `tables` keeps on the device,
//! `run` takes a text through the kernels, `assemble` makes arrays of their output, `decoder`
//! drives it over chunks and calls the next engine of the chain for records in doubt. With
//! `resident` batches, and the text, stay on the device; with `stand_in` also those of readers.

mod assemble;
mod decoder;
mod device_columns;
pub(crate) mod program;
mod resident;
mod run;
mod stand_in;
mod tables;

pub(crate) use decoder::JsonDecoder;
pub use resident::{DeviceDecoder, DeviceText};
pub use stand_in::ResidentEngine;
pub(crate) use tables::LastTables;
