// SPDX-License-Identifier: Apache-2.0
//! The engine that `--engine` names, for JSON and for Parquet, if this build has it.

use std::sync::Arc;

use arrowsmith::json::JsonReader;
use arrowsmith::parquet::ColumnEngine;
use arrowsmith::plan::Engine as JsonEngine;

use crate::args::{Engine, EngineArgs};
use crate::failure::Outcome;

/// Returns an engine's counters as a line of the summary.
pub type Counted = Box<dyn Fn() -> String>;

/// An engine, and its counters if it has any.
type Chosen<T> = Outcome<(T, Option<Counted>)>;

/// The engine for JSON.
pub fn json(args: &EngineArgs, explain: bool) -> Chosen<Arc<dyn JsonEngine>> {
    Ok(match args.engine {
        // `--explain` describes what a GPU would do; it needs none.
        Engine::Gpu | Engine::Auto if explain => (arrowsmith::engine("cpu")?, None),
        Engine::Gpu | Engine::Auto => match gpu::json(args)? {
            Some(gpu) => (gpu, None),
            None => (arrowsmith::engine("cpu")?, None),
        },
        Engine::Rtl => rtl::json()?,
        choice => (arrowsmith::engine(choice.name())?, None),
    })
}

/// The engine that decodes columns of Parquet before engine `cpu`, if any.
pub fn columns(args: &EngineArgs, explain: bool) -> Chosen<Option<Arc<dyn ColumnEngine>>> {
    match args.engine {
        Engine::Cpu | Engine::Reference => Ok((None, None)),
        Engine::Gpu | Engine::Auto => Ok((gpu::columns(args, explain)?, None)),
        Engine::Rtl => rtl::columns().map(|(engine, counted)| (Some(engine), counted)),
    }
}

/// What the engine leaves to another one, for `--explain` of JSON.
pub fn explained(engine: Engine, reader: &JsonReader) -> String {
    match engine {
        Engine::Gpu | Engine::Auto => gpu::explained(engine, reader),
        Engine::Cpu | Engine::Rtl | Engine::Reference => String::new(),
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    use super::*;
    use arrowsmith::gpu::device::NoDevice;
    use arrowsmith::gpu::{GpuEngine, GpuOptions, by_name, parquet, supports};

    /// The GPU, if it was requested and, for `auto`, is present.
    fn open(args: &EngineArgs) -> Outcome<Option<GpuEngine>> {
        let open = || GpuEngine::open(GpuOptions::default().with_memory_bytes_max(args.gpu_memory));
        Ok(by_name(args.engine.name(), open)?)
    }

    pub fn json(args: &EngineArgs) -> Outcome<Option<Arc<dyn JsonEngine>>> {
        Ok(open(args)?.map(|gpu| Arc::new(gpu) as Arc<dyn JsonEngine>))
    }

    pub fn columns(args: &EngineArgs, explain: bool) -> Outcome<Option<Arc<dyn ColumnEngine>>> {
        if explain && args.engine == Engine::Gpu {
            // `--explain` describes what a GPU would do; it needs none.
            let columns = parquet::ColumnEngine::new(Arc::new(NoDevice), GpuOptions::default());
            return Ok(Some(Arc::new(columns)));
        }
        let columns = open(args)?.as_ref().map(parquet::ColumnEngine::of);
        Ok(columns.map(|columns| Arc::new(columns) as Arc<dyn ColumnEngine>))
    }

    pub fn explained(engine: Engine, reader: &JsonReader) -> String {
        if engine == Engine::Auto
            && let Err(absent) = GpuEngine::open(GpuOptions::default())
        {
            return format!("engine cpu, because engine auto finds no suitable GPU: {absent}\n");
        }
        match supports(reader.plan()) {
            Ok(()) => "engine gpu: every column; records that its kernels are not sure of, by \
                       engine cpu\n"
                .to_owned(),
            Err(reason) => format!(
                "engine gpu: decoded by engine cpu, because engine gpu does not support {reason}\n"
            ),
        }
    }
}

#[cfg(not(feature = "gpu"))]
mod gpu {
    use super::*;

    pub fn json(args: &EngineArgs) -> Outcome<Option<Arc<dyn JsonEngine>>> {
        Ok(Some(arrowsmith::engine(args.engine.name())?))
    }

    pub fn columns(args: &EngineArgs, _explain: bool) -> Outcome<Option<Arc<dyn ColumnEngine>>> {
        // `auto` is `cpu` then; `gpu` is an error that names the feature.
        arrowsmith::engine(args.engine.name())?;
        Ok(None)
    }

    pub fn explained(engine: Engine, _reader: &JsonReader) -> String {
        match arrowsmith::engine(engine.name()) {
            Ok(_) => "engine cpu, because this build has no `gpu`\n".to_owned(),
            Err(error) => format!("{error}\n"),
        }
    }
}

#[cfg(feature = "rtl")]
mod rtl {
    use super::*;
    use arrowsmith_engine_rtl::json::RtlEngine;
    use arrowsmith_engine_rtl::parquet;

    pub fn json() -> Chosen<Arc<dyn JsonEngine>> {
        let engine = RtlEngine::new(arrowsmith::engine("cpu")?);
        let statistics = Arc::clone(engine.statistics());
        Ok((Arc::new(engine), Some(Box::new(move || statistics.counts().to_string()))))
    }

    pub fn columns() -> Chosen<Arc<dyn ColumnEngine>> {
        let circuits = Arc::new(parquet::ColumnEngine::open()?);
        let counts = Arc::clone(&circuits);
        Ok((circuits, Some(Box::new(move || counts.counts().to_string()))))
    }
}

#[cfg(not(feature = "rtl"))]
mod rtl {
    use super::*;
    use crate::features;

    pub fn json() -> Chosen<Arc<dyn JsonEngine>> {
        Err(features::lacking("rtl"))
    }

    pub fn columns() -> Chosen<Arc<dyn ColumnEngine>> {
        Err(features::lacking("rtl"))
    }
}
