// SPDX-License-Identifier: Apache-2.0
//! Layouts of existing classes, read by reflection in a JVM that loads them and runs none of their
//! code.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::error::JvmError;
use crate::jdk::{Jdk, tool};
use crate::layout::{Class, Existing, Field, LENGTH_MAX_DEFAULT, Layout, Length, Primitive, Type};
use crate::project::joined;

const DESCRIBE: &str = include_str!("../templates/Describe.java");

#[derive(Deserialize)]
struct Described {
    classes: Option<Vec<DescribedClass>>,
    path: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct DescribedClass {
    java: String,
    binary: String,
    record: bool,
    fields: Vec<DescribedField>,
}

#[derive(Deserialize)]
struct DescribedField {
    name: String,
    owner: String,
    public: bool,
    /// A primitive, `string`, or the binary name of a class.
    base: String,
    dimensions: usize,
}

impl Existing {
    /// Reads the layout of the class: its fields and those of its ancestors, without static and
    /// transient ones. References may be null, arrays have any length.
    ///
    /// # Errors
    /// If the class is not found, or has a field whose type cannot be transferred.
    pub fn layout(&self, jdk: &Jdk) -> Result<Layout, JvmError> {
        let folder = tempfolder()?;
        let source = folder.join("Describe.java");
        fs::write(&source, DESCRIBE).map_err(JvmError::io(&source))?;
        let mut command = Command::new(jdk.program("java"));
        command.arg("-Xshare:auto");
        let jars: Result<Vec<PathBuf>, JvmError> =
            self.jars.iter().map(|jar| jar.canonicalize().map_err(JvmError::io(jar))).collect();
        let jars = jars?;
        if !jars.is_empty() {
            command.arg("-cp").arg(joined(&jars)?);
        }
        command.arg(&source).arg(&self.class);
        let said = tool(&mut command);
        // The rest is small and belongs to this process only.
        let _ = fs::remove_dir_all(&folder);
        let said = said?;
        let described: Described = serde_json::from_slice(&said)
            .map_err(|error| JvmError::Run(format!("the description of the class: {error}")))?;
        if let Some(reason) = described.reason {
            return Err(JvmError::unsupported(described.path.unwrap_or_default(), reason));
        }
        let classes = described.classes.unwrap_or_default();
        if classes.is_empty() {
            return Err(JvmError::Run("the description of the class is empty".to_owned()));
        }
        let place = |name: &str| classes.iter().position(|class| class.binary == name);
        let mut found = Vec::new();
        for class in &classes {
            names(&class.java)?;
            let mut fields = Vec::new();
            for field in &class.fields {
                crate::layout::identifier(&field.name).map_err(|reason| {
                    JvmError::unsupported(format!("{}.{}", class.java, field.name), reason)
                })?;
                names(&field.owner)?;
                let mut ty = if let Some(primitive) = Primitive::of(&field.base) {
                    Type::Primitive(primitive)
                } else if field.base == "string" {
                    Type::String { chars_max: LENGTH_MAX_DEFAULT, nullable: true }
                } else {
                    let class = place(&field.base)
                        .ok_or_else(|| JvmError::Run(format!("{} is not described", field.base)))?;
                    Type::Object { class, nullable: true }
                };
                for _ in 0..field.dimensions {
                    let length = Length::Max(LENGTH_MAX_DEFAULT);
                    ty = Type::Array { element: Box::new(ty), length, nullable: true };
                }
                let owner = Some(field.owner.clone()).filter(|owner| *owner != class.java);
                fields.push(Field { name: field.name.clone(), ty, owner, public: field.public });
            }
            found.push(Class {
                java: class.java.clone(),
                binary: class.binary.clone(),
                fields,
                record: class.record,
            });
        }
        crate::layout::finish(Layout { classes: found, existing: true, classpath: jars })
    }
}

/// A name with dots, of identifiers.
fn names(name: &str) -> Result<(), JvmError> {
    for part in name.split('.') {
        // A class can be named Outer$Inner without being nested.
        crate::layout::identifier(&part.replace('$', "_"))
            .map_err(|reason| JvmError::unsupported(name, reason))?;
    }
    Ok(())
}

fn tempfolder() -> Result<PathBuf, JvmError> {
    let base = std::env::temp_dir();
    for attempt in 0..1_000 {
        let folder = base.join(format!("arrowsmith-jvm-{}-{attempt}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(JvmError::io(folder)(error)),
        }
    }
    Err(JvmError::Run(format!("no folder can be made in {}", base.display())))
}
