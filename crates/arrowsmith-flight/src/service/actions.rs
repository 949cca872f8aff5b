// SPDX-License-Identifier: Apache-2.0
//! Actions: operations other than reading and writing. Bodies are JSON.

use std::sync::Arc;

use arrow_flight::{Action, ActionType};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tonic::Status;

use super::Shared;
use super::shared::{command_of, without_sql};
use crate::error::status_of;

/// Names and descriptions.
const ACTIONS: [(&str, &str); 3] = [
    ("refresh", "looks at the files again; body: {\"dataset\": NAME}, or nothing for all"),
    ("health", "whether the server serves, since when, and what"),
    ("engines", "the engines that decode"),
];

/// The actions that there are.
pub(crate) fn list(shared: &Shared) -> Vec<ActionType> {
    let own = ACTIONS.iter().map(|(name, description)| ActionType {
        r#type: (*name).to_owned(),
        description: (*description).to_owned(),
    });
    own.chain(shared.extension.iter().flat_map(|extension| extension.actions())).collect()
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refresh {
    dataset: Option<String>,
}

/// Runs an action; its results are JSON, one object each.
pub(crate) async fn run(shared: &Arc<Shared>, action: Action) -> Result<Vec<Bytes>, Status> {
    let text = |value: serde_json::Value| Bytes::from(value.to_string());
    match action.r#type.as_str() {
        "refresh" => {
            let asked: Refresh = if action.body.is_empty() {
                Refresh::default()
            } else {
                serde_json::from_slice(&action.body)
                    .map_err(|error| Status::invalid_argument(format!("refresh: {error}")))?
            };
            let mut results = Vec::new();
            let names: Vec<String> = match asked.dataset {
                Some(name) => vec![name],
                None => shared.catalog.iter().map(|(name, _)| name.to_owned()).collect(),
            };
            for name in names {
                let dataset = Arc::clone(shared.dataset(&name)?);
                // Listing folders and reading footers waits for the disk.
                let changed = tokio::task::spawn_blocking(move || dataset.refresh())
                    .await
                    .map_err(|_| Status::internal("refresh failed"))?
                    .map_err(|error| status_of(&name, &error))?;
                results.push(text(json!({ "dataset": name, "changed": changed })));
            }
            Ok(results)
        }
        "health" => {
            let up = shared.started.elapsed().map_or(0, |up| up.as_secs());
            Ok(vec![text(json!({
                "status": "serving",
                "version": env!("CARGO_PKG_VERSION"),
                "seconds_up": up,
                "datasets": shared.catalog.iter().count(),
                "streams": shared.metrics.streams.get(),
                "connections": shared.metrics.connections.get(),
            }))])
        }
        "engines" => Ok(arrowsmith::ENGINES
            .iter()
            .enumerate()
            .map(|(index, entry)| text(json!({ "engine": entry.name, "default": index == 0 })))
            .collect()),
        other => {
            if let Some(extension) = &shared.extension
                && let Some(results) = extension.action(shared, other, &action.body).await?
            {
                return Ok(results);
            }
            // Drivers prepare a statement first.
            let sql = command_of(&action.body).and_then(|command| without_sql(&command));
            let unknown = || Status::invalid_argument(format!("there is no action {other:?}"));
            Err(sql.filter(|_| shared.extension.is_none()).unwrap_or_else(unknown))
        }
    }
}
