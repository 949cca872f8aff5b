// SPDX-License-Identifier: Apache-2.0
//! For the fuzz target of statements: they are planned on the calling thread, whose memory is
//! counted.

use std::sync::Arc;

use arrowsmith_flight::Catalog;
use tonic::Status;

use crate::SqlOptions;
use crate::engine::QueryEngine;

/// Plans statements.
pub struct Planner(QueryEngine);

impl Planner {
    /// Over the datasets of a catalog.
    ///
    /// # Errors
    /// If the system cannot create threads.
    pub fn new(catalog: Arc<Catalog>) -> arrowsmith::Result<Self> {
        let options = SqlOptions { threads: 1, ..SqlOptions::default() };
        QueryEngine::new(catalog, &options).map(Self)
    }

    /// The number of a statement's columns; its parameters are null.
    ///
    /// # Errors
    /// The error, as clients see it.
    pub fn plan(&self, sql: &str) -> Result<usize, Status> {
        self.0.plan_here(sql)
    }
}
