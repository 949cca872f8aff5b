// SPDX-License-Identifier: Apache-2.0
//! Everyday commands of the repository.

#![forbid(unsafe_code)]

fn main() {}
