// SPDX-License-Identifier: Apache-2.0
//! Transfers from JVM objects to native memory: generated for a layout, built, run and checked.
//!
//! A [`Layout`] comes from text or from an existing class; [`Project::generate`] writes classes,
//! Java and C for every approach of the paper ("Pushing Big Data into Accelerators", Table 1) and
//! of today; [`Project::build`] compiles them; [`Built::run`] runs them in a JVM, where each
//! transfers the same objects and must compute the same sum. This crate generates and runs
//! programs; it never loads a JVM into its own process and contains no unsafe code.
//!
//! ```
//! use arrowsmith_jvm::{Layout, Source};
//!
//! let text = "classes: {Point: {x: double, y: double, tags: 'string[<=4]?'}}";
//! let Source::Layout(layout) = Source::parse(text)? else { panic!("a class that exists") };
//! assert_eq!(layout.root().java, "layout.Point");
//! assert!(Source::parse("classes: {Node: {next: Node?}}").is_err(), "objects must be trees");
//! # Ok::<(), arrowsmith_jvm::JvmError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod existing;
mod generate;
mod jdk;
mod layout;
mod libraries;
mod project;
mod run;

pub use error::JvmError;
pub use jdk::Jdk;
pub use layout::{
    CLASSES_MAX, Class, DEPTH_MAX, Existing, FIELDS_ALL_MAX, FIELDS_MAX, Field, LENGTH_MAX_DEFAULT,
    Layout, Length, OBJECT_BYTES_MAX, Primitive, Source, TEXT_BYTES_MAX, Tree, Type,
};
pub use libraries::Libraries;
pub use project::{Built, Project};
pub use run::{APPROACHES, Measured, Mode, NotRun, Outcome, RunOptions, SingleOptions};
