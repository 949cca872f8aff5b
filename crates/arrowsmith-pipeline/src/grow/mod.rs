// SPDX-License-Identifier: Apache-2.0
//! An inferred schema that grows: nothing is lost, wherever in the input it first appears.
//!
//! The result is defined as that of inferring over all records and decoding with that schema, and
//! it does not depend on threads or chunk sizes. Workers decode with what is known ([`Growth`]). A
//! piece that does not match is shown to an inferrer of its own, which widens what is known, and is
//! decoded again ([`Grower`]). What a decoder accepts although it is wider than what is known, a
//! [`watch`] reports. Batches that were decoded before are brought to the final schema by casts
//! that are exact ([`settle()`]), or everything is read once more ([`Grow`]). Design:
//! `docs/design/0018`.

mod growth;
mod passes;
mod settle;
mod watch;
mod worker;

pub use growth::{Growth, PlanSoFar, Planner};
pub use passes::{Collect, Grow, Step};
pub use settle::settle;
pub use watch::widens;
pub(crate) use worker::Grower;
pub use worker::may_widen;
