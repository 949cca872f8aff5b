//! x
use crate::Report;
/// x
pub fn html(_: &Report) -> String { "<!doctype html>".into() }
