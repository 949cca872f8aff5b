// SPDX-License-Identifier: Apache-2.0
//! JSON → Arrow on one core. A record goes through `walk` (the loop over records) → `route` (keys,
//! which `predict` expects and `keys` finds) → `convert` (values) → `build` (columns); `program` is
//! the plan laid out for that, `decoder` drives it over chunks and handles bad records, `capacity`
//! of those that exceed the memory budget, `locate` finds the position of an error.

mod build;
mod capacity;
mod coerce;
mod convert;
mod decoder;
mod keys;
mod locate;
mod lockstep;
mod predict;
mod program;
mod records;
mod route;
mod spread;
mod walk;

pub(crate) use decoder::JsonDecoder;
