// SPDX-License-Identifier: Apache-2.0
//! Logical types that Arrow knows as extension types: their name and parameters in a field's
//! metadata.

use std::collections::HashMap;

use arrow_schema::DataType;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use parquet::basic::{EdgeInterpolationAlgorithm, LogicalType};

/// Adds what a logical type means to a field's metadata, where the field's type can carry it.
pub(super) fn add(
    logical: Option<&LogicalType>,
    data_type: &DataType,
    metadata: &mut HashMap<String, String>,
) {
    let (name, parameters) = match (logical, data_type) {
        (Some(LogicalType::Uuid), DataType::FixedSizeBinary(16)) => ("arrow.uuid", None),
        (Some(LogicalType::Json), kind) if !matches!(kind, DataType::Dictionary(..)) => {
            ("arrow.json", Some(String::new()))
        }
        (Some(LogicalType::Variant(_)), _) => ("arrow.parquet.variant", Some(String::new())),
        (Some(LogicalType::Geometry(geometry)), _) => {
            ("geoarrow.wkb", Some(well_known_binary(geometry.crs.as_deref(), None)))
        }
        (Some(LogicalType::Geography(geography)), _) => {
            let edges = match geography.algorithm() {
                Some(EdgeInterpolationAlgorithm::VINCENTY) => "vincenty",
                Some(EdgeInterpolationAlgorithm::THOMAS) => "thomas",
                Some(EdgeInterpolationAlgorithm::ANDOYER) => "andoyer",
                Some(EdgeInterpolationAlgorithm::KARNEY) => "karney",
                _ => "spherical",
            };
            ("geoarrow.wkb", Some(well_known_binary(geography.crs.as_deref(), Some(edges))))
        }
        _ => return,
    };
    metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned());
    if let Some(parameters) = parameters {
        metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), parameters);
    }
}

/// GeoArrow's parameters, as JSON. An omitted CRS is OGC:CRS84, the one called `srid:0` is
/// unknown; one that is a JSON object (PROJJSON) stays one.
fn well_known_binary(crs: Option<&str>, edges: Option<&str>) -> String {
    let crs = match crs.unwrap_or("OGC:CRS84") {
        "srid:0" => None,
        object if object.starts_with('{') => Some(object.to_owned()),
        name => Some(format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))),
    };
    let crs = crs.map(|crs| format!("\"crs\":{crs}"));
    let edges = edges.map(|edges| format!("\"edges\":\"{edges}\""));
    let parts: Vec<String> = [crs, edges].into_iter().flatten().collect();
    format!("{{{}}}", parts.join(","))
}
