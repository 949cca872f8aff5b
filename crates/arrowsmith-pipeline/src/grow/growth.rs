// SPDX-License-Identifier: Apache-2.0
//! What is known of the schema so far, shared by all workers: a lattice that only widens, and the
//! plan for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::{DataType, Schema, SchemaRef};
use arrowsmith_core::Result;
use arrowsmith_json::infer::{InferOptions, Inferrer, Watch};
use arrowsmith_plan::Plan;
use arrowsmith_plan::plan::ROOT_METADATA_KEY;

use crate::{Origin, Sample};

/// Where a piece begins: the number of its source, and the byte in it.
pub(crate) type Place = (u32, u64);

/// Makes the plan for a schema: what of it is decoded, and as what.
pub type Planner = Box<dyn Fn(SchemaRef) -> Result<PlanSoFar> + Send + Sync>;

/// What a [`Planner`] makes.
#[derive(Debug)]
pub struct PlanSoFar {
    /// The plan.
    pub plan: Plan,
    /// Whether it has selected columns only, so that the decoder reports no other keys.
    pub projected: bool,
    /// Whether a selected column is not known yet.
    pub lacks: bool,
}

impl From<Plan> for PlanSoFar {
    /// A plan for everything.
    fn from(plan: Plan) -> Self {
        Self { plan, projected: false, lacks: false }
    }
}

/// The schema of inputs of which only a part was looked at. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Growth(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// The number of the current version, to look at without the lock.
    number: AtomicU64,
    options: InferOptions,
    planner: Planner,
}

#[derive(Debug)]
struct State {
    inferrer: Inferrer,
    version: Arc<Version>,
    /// The latest place of records that widened it during this pass.
    newest: Place,
    /// Whether keys that no inferrer saw became fields: the next pass infers from every record.
    unsure: bool,
    /// Whether this pass does.
    observe_all: bool,
}

/// One state of the schema.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) number: u64,
    pub(crate) plan: Arc<Plan>,
    pub(crate) watch: Option<Watch>,
    /// It contains keys from this place. The order of the columns is that of first appearance, so
    /// an inferrer has to see the pieces before it, too.
    pub(crate) newest: Place,
    /// Whether only selected columns are decoded.
    pub(crate) projected: bool,
    /// Whether decoding alone does not tell what matches, so that every record is inferred from.
    pub(crate) observe_all: bool,
}

impl Growth {
    /// Starts with what a sample contains.
    ///
    /// # Errors
    /// As the planner.
    pub fn new(sample: &Sample, planner: Planner) -> Result<Self> {
        let inferrer = sample.inferrer.clone();
        let mut options = inferrer.options().clone();
        options.records_max = None;
        let schema = Arc::clone(&sample.schema);
        let planned = planner(schema)?;
        let version = Arc::new(version(&inferrer, planned, 0, (0, 0), false));
        let (unsure, observe_all) = (false, false);
        let state = State { inferrer, version, newest: (0, 0), unsure, observe_all };
        let state = Mutex::new(state);
        let number = AtomicU64::new(0);
        Ok(Self(Arc::new(Shared { state, number, options, planner })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.lock().version)
    }

    /// The number of the current version.
    pub(crate) fn number(&self) -> u64 {
        self.0.number.load(Ordering::Acquire)
    }

    /// The plan of everything known so far.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.version().plan)
    }

    /// The schema of everything known so far.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.version().plan.schema())
    }

    /// Everything known so far, as of a sample of all of the inputs.
    ///
    /// # Errors
    /// There was no record.
    pub(crate) fn learned(&self, origins: Vec<Origin>, records: u64) -> Result<Sample> {
        let inferrer = self.lock().inferrer.clone();
        let schema = Arc::new(inferrer.clone().finish()?);
        Ok(Sample { schema, origins, records, complete: true, fault: None, inferrer })
    }

    /// Whether another pass may find an earlier place for a key.
    pub(crate) fn is_unsure(&self) -> bool {
        self.lock().unsure
    }

    /// An inferrer for a part of the input.
    pub(crate) fn inferrer(&self) -> Inferrer {
        Inferrer::new(self.0.options.clone())
    }

    /// Adds what an inferrer saw, in records of a piece at `place`.
    ///
    /// # Errors
    /// Too many keys; what a plan cannot be.
    pub(crate) fn add(&self, seen: Inferrer, place: Place) -> Result<()> {
        let mut state = self.lock();
        if seen.records() == 0 {
            return Ok(());
        }
        state.inferrer.merge(seen)?;
        state.newest = state.newest.max(place);
        self.publish(&mut state, false)
    }

    /// Starts another pass over the inputs. What was learned of the order of keys holds for it.
    ///
    /// # Errors
    /// As [`Growth::add`].
    pub(crate) fn next_pass(&self) -> Result<()> {
        let mut state = self.lock();
        state.newest = (0, 0);
        state.observe_all = std::mem::take(&mut state.unsure);
        self.publish(&mut state, true)
    }

    /// Makes a new version, if there is anything new.
    fn publish(&self, state: &mut State, always: bool) -> Result<()> {
        let schema = Arc::new(state.inferrer.clone().finish()?);
        let watch = state.version.watch.as_ref();
        state.unsure |= watch.is_some_and(|watch| names_records(watch, &schema));
        let number = state.version.number + 1;
        let (newest, all) = (state.newest, state.observe_all);
        let planned = (self.0.planner)(schema)?;
        let next = version(&state.inferrer, planned, number, newest, all);
        let now = &state.version;
        if always || next.plan.schema() != now.plan.schema() || next.watch != now.watch {
            state.version = Arc::new(next);
            self.0.number.store(number, Ordering::Release);
        }
        Ok(())
    }
}

fn version(
    inferrer: &Inferrer,
    planned: PlanSoFar,
    number: u64,
    newest: Place,
    all: bool,
) -> Version {
    let PlanSoFar { plan, projected, lacks } = planned;
    let watch = inferrer.watch();
    // Among keys that are skipped on purpose, new ones are not noticed.
    let hidden = projected && (lacks || has_structs(plan.schema()));
    let observe_all = all || hidden || watch.as_ref().is_some_and(Watch::has_times);
    Version { number, plan: Arc::new(plan), watch, newest, projected, observe_all }
}

/// Whether keys that were data are names of fields in a wider schema. Pieces that matched the map
/// may have any keys, which no inferrer saw.
fn names_records(watch: &Watch, schema: &Schema) -> bool {
    match schema.fields().first() {
        Some(value) if schema.metadata().contains_key(ROOT_METADATA_KEY) => {
            names(watch, value.data_type())
        }
        _ => names(watch, &DataType::Struct(schema.fields().clone())),
    }
}

fn names(watch: &Watch, data_type: &DataType) -> bool {
    match (watch, data_type) {
        (Watch::Map { data_keys, .. }, DataType::Struct(_)) => *data_keys,
        (Watch::Map { values: Some(values), .. }, DataType::Map(entries, _)) => {
            let DataType::Struct(fields) = entries.data_type() else { return false };
            fields.get(1).is_some_and(|field| names(values, field.data_type()))
        }
        (Watch::List(item), DataType::List(field)) => names(item, field.data_type()),
        (Watch::Struct(below), DataType::Struct(fields)) => below.iter().any(|(name, watch)| {
            fields.find(name).is_some_and(|(_, field)| names(watch, field.data_type()))
        }),
        _ => false,
    }
}

fn has_structs(schema: &Schema) -> bool {
    fn within(data_type: &DataType) -> bool {
        match data_type {
            DataType::Struct(_) => true,
            DataType::List(item) => within(item.data_type()),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) => fields.iter().any(|field| within(field.data_type())),
                _ => false,
            },
            _ => false,
        }
    }
    schema.fields().iter().any(|field| within(field.data_type()))
}
