// SPDX-License-Identifier: Apache-2.0
//! The integration tests of this crate, one program for all of them, as each would be linked by itself otherwise:
//! `cargo test -p arrowsmith-sink-flight --test suite flight::` runs those of a module.

mod flight;
