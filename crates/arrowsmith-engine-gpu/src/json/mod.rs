// SPDX-License-Identifier: Apache-2.0
//! JSON → Arrow on a device. `program` is the plan as tables, `run` takes a text through the kernels,
//! `assemble` makes arrays of what they leave, `decoder` drives it over chunks and asks the CPU engine
//! where the kernels are not sure.

mod assemble;
mod decoder;
pub(crate) mod program;
mod run;

pub(crate) use decoder::JsonDecoder;
