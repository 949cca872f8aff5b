// SPDX-License-Identifier: Apache-2.0
//! In the making.

#![forbid(unsafe_code)]
