// SPDX-License-Identifier: Apache-2.0
//! The command as scripts see it: the built binary, its output, its files and its exit status.
//!
//! The expected texts are in `tests/snapshots`; `ARROWSMITH_UPDATE_SNAPSHOTS=1` rewrites them:
//! review the diff.

mod bad_input;
mod bench;
mod bench_parquet;
mod combinations;
mod completions;
mod convert;
mod convert_folders;
mod convert_outputs;
mod convert_parquet;
mod cut_short;
mod data;
mod generate;
mod gpu;
mod health;
mod help;
mod iceberg;
mod infer;
mod inspect;
mod interrupt;
mod limits;
mod readme;
mod real_json;
mod rtl;
mod run;
mod serve;
