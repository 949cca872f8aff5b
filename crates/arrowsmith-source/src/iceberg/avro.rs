// SPDX-License-Identifier: Apache-2.0
//! Avro object container files, as far as the manifests of Iceberg tables need them: records of any
//! schema, one at a time, as values with the names of their fields.
//!
//! Not a reader for data: it makes no columns, and no use of a reader's schema. By the
//! [specification](https://avro.apache.org/docs/1.12.0/specification/).

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use serde_json::Value as Json;

/// Maximum nesting of a schema's types.
const DEPTH_MAX: usize = 32;

/// Maximum size of a block that is not compressed, in bytes.
const BLOCK_BYTES_MAX: u64 = 256 << 20;

type Result<T> = std::result::Result<T, String>;

/// A type of a schema.
#[derive(Debug, Clone)]
enum Type {
    Null,
    Boolean,
    /// `int`, `long`, and the symbols of an `enum`.
    Long,
    Float,
    Double,
    /// `bytes` and `string`.
    Bytes,
    Fixed(usize),
    Array(Arc<Type>),
    /// Its values; keys are `string`.
    Map(Arc<Type>),
    Union(Arc<[Type]>),
    Record(Arc<[RecordField]>),
}

/// A field of a record.
#[derive(Debug)]
struct RecordField {
    name: String,
    /// The attribute `field-id`, by which Iceberg tells fields apart.
    id: Option<i64>,
    kind: Type,
}

/// A value. A union is the value in it.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    Long(i64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
    /// An array, or a map: nothing here needs them.
    Many,
    Record(Record<'a>),
}

/// A record.
#[derive(Debug, Clone)]
pub(super) struct Record<'a> {
    fields: Arc<[RecordField]>,
    values: Vec<Value<'a>>,
}

impl<'a> Record<'a> {
    /// The value of the field of this name; null if there is none.
    pub(super) fn get(&self, name: &str) -> &Value<'a> {
        self.value(|field| field.name == name)
    }

    /// The value of the field with this `field-id`; null if there is none.
    pub(super) fn by_id(&self, id: i64) -> &Value<'a> {
        self.value(|field| field.id == Some(id))
    }

    fn value(&self, is_it: impl Fn(&RecordField) -> bool) -> &Value<'a> {
        let place = self.fields.iter().position(is_it);
        place.and_then(|place| self.values.get(place)).unwrap_or(&Value::Null)
    }
}

impl<'a> Value<'a> {
    pub(super) fn long(&self) -> Option<i64> {
        if let Self::Long(value) = self { Some(*value) } else { None }
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        if let Self::Bytes(bytes) = self { std::str::from_utf8(bytes).ok() } else { None }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// A file: its metadata, and its blocks.
pub(super) struct File<'a> {
    metadata: HashMap<&'a str, &'a [u8]>,
    schema: Arc<[RecordField]>,
    sync: [u8; 16],
    rest: Bytes<'a>,
}

impl<'a> File<'a> {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self> {
        let mut rest = Bytes(bytes);
        if rest.take(4)? != b"Obj\x01" {
            return Err("it is not an Avro file".to_owned());
        }
        let mut metadata = HashMap::new();
        while let Some(count) = rest.block()? {
            for _ in 0..count {
                let key = std::str::from_utf8(rest.bytes()?).map_err(|_| "a key is not text")?;
                metadata.insert(key, rest.bytes()?);
            }
        }
        let sync = *rest.take(16)?.first_chunk().ok_or("it is cut off")?;
        let schema = metadata.get("avro.schema").ok_or("it has no schema")?;
        let schema: Json = serde_json::from_slice(schema).map_err(|error| error.to_string())?;
        let (kind, _) = Names::default().parse(&schema)?;
        let Type::Record(schema) = kind else {
            return Err("it does not contain records".to_owned());
        };
        Ok(Self { metadata, schema, sync, rest })
    }

    /// An entry of the file's metadata, as text.
    pub(super) fn entry(&self, key: &str) -> Option<&'a str> {
        std::str::from_utf8(self.metadata.get(key)?).ok()
    }

    /// Calls `each` for every record.
    ///
    /// # Errors
    /// Its own, and what is wrong with the file.
    pub(super) fn records(self, mut each: impl FnMut(&Record<'_>) -> Result<()>) -> Result<()> {
        let schema = Arc::clone(&self.schema);
        self.blocks(|count, mut block| {
            for _ in 0..count {
                let before = block.0.len();
                let record = block.record(&schema)?;
                if block.0.len() == before {
                    return Err("a record without bytes".to_owned());
                }
                each(&record)?;
            }
            Ok(())
        })
    }

    /// Calls `each` for every block: its number of records, and their bytes.
    fn blocks(mut self, mut each: impl FnMut(i64, Bytes<'_>) -> Result<()>) -> Result<()> {
        let codec = self.entry("avro.codec").unwrap_or("null");
        while !self.rest.0.is_empty() {
            let (count, len) = (self.rest.long()?, self.rest.long()?);
            let block = self.rest.take(usize::try_from(len).map_err(|_| "a negative size")?)?;
            if self.rest.take(16)? != self.sync {
                return Err("a block does not end as it should".to_owned());
            }
            let plain;
            let block = Bytes(match codec {
                "null" => block,
                codec => {
                    plain = decompressed(codec, block)?;
                    &plain
                }
            });
            each(count, block)?;
        }
        Ok(())
    }
}

/// A file as who writes it again, with more records, needs it.
#[derive(Debug)]
pub struct Encoded {
    /// The schema of its records, in JSON.
    pub schema: Json,
    /// The number of its records.
    pub records: i64,
    /// The records as they are encoded, one after another, not compressed.
    pub bytes: Vec<u8>,
}

/// Reads a file whose records are kept as they are; they are valid.
///
/// # Errors
/// What is wrong with the file, or that it has more than 256 MiB of records.
pub fn encoded(bytes: &[u8]) -> Result<Encoded> {
    let file = File::open(bytes)?;
    let (kind, text) = (Arc::clone(&file.schema), file.entry("avro.schema").unwrap_or_default());
    let schema = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut found = Encoded { schema, records: 0, bytes: Vec::new() };
    file.blocks(|count, block| {
        if (found.bytes.len() + block.0.len()) as u64 > BLOCK_BYTES_MAX {
            return Err(too_large());
        }
        let mut rest = Bytes(block.0);
        for _ in 0..count {
            let before = rest.0.len();
            rest.record(&kind)?;
            if rest.0.len() == before {
                return Err("a record without bytes".to_owned());
            }
            found.records += 1;
        }
        found.bytes.extend_from_slice(&block.0[..block.0.len() - rest.0.len()]);
        Ok(())
    })?;
    Ok(found)
}

fn decompressed(codec: &str, block: &[u8]) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| format!("a block that is {codec}: {error}");
    let mut plain = Vec::new();
    let mut limited = |reader: &mut dyn Read| {
        reader.take(BLOCK_BYTES_MAX + 1).read_to_end(&mut plain).map_err(failed)
    };
    match codec {
        "deflate" => drop(limited(&mut flate2::read::DeflateDecoder::new(block))?),
        "zstandard" => {
            let mut decoder = zstd::stream::read::Decoder::new(block).map_err(failed)?;
            limited(&mut decoder)?;
        }
        "snappy" => {
            let (block, sum) = block.split_last_chunk::<4>().ok_or("a block is cut off")?;
            let len = snap::raw::decompress_len(block).map_err(|error| error.to_string())?;
            if len as u64 > BLOCK_BYTES_MAX {
                return Err(too_large());
            }
            plain = snap::raw::Decoder::new()
                .decompress_vec(block)
                .map_err(|error| error.to_string())?;
            let mut crc = flate2::Crc::new();
            crc.update(&plain);
            if crc.sum().to_be_bytes() != *sum {
                return Err("a block has another checksum than it says".to_owned());
            }
        }
        other => return Err(format!("it is compressed by {other}")),
    }
    if plain.len() as u64 > BLOCK_BYTES_MAX { Err(too_large()) } else { Ok(plain) }
}

fn too_large() -> String {
    format!("a block of more than {BLOCK_BYTES_MAX} bytes")
}

/// The named types of a schema, with their depth.
#[derive(Default)]
struct Names(HashMap<String, (Type, usize)>);

impl Names {
    /// A type, and how deep it is. A type that contains itself has no name in itself, so that it is
    /// unknown there.
    fn parse(&mut self, schema: &Json) -> Result<(Type, usize)> {
        let (kind, depth) = match schema {
            Json::String(name) => self.named(name)?,
            Json::Array(branches) => {
                let parsed = branches.iter().map(|branch| self.parse(branch));
                let parsed = parsed.collect::<Result<Vec<_>>>()?;
                let depth = parsed.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
                (Type::Union(parsed.into_iter().map(|(kind, _)| kind).collect()), depth + 1)
            }
            Json::Object(_) => self.object(schema)?,
            _ => return Err("a type of its schema is none".to_owned()),
        };
        match depth > DEPTH_MAX {
            true => Err(format!("its schema is nested deeper than {DEPTH_MAX}")),
            false => Ok((kind, depth)),
        }
    }

    fn named(&self, name: &str) -> Result<(Type, usize)> {
        Ok(match name {
            "null" => (Type::Null, 0),
            "boolean" => (Type::Boolean, 0),
            "int" | "long" => (Type::Long, 0),
            "float" => (Type::Float, 0),
            "double" => (Type::Double, 0),
            "bytes" | "string" => (Type::Bytes, 0),
            name => self.0.get(name).cloned().ok_or(format!("no type {name:?} in its schema"))?,
        })
    }

    fn object(&mut self, schema: &Json) -> Result<(Type, usize)> {
        let within = |key: &str| schema.get(key).ok_or(format!("a type without {key:?}"));
        let typed = match within("type")? {
            Json::String(name) => match name.as_str() {
                "array" => {
                    let (items, depth) = self.parse(within("items")?)?;
                    return Ok((Type::Array(Arc::new(items)), depth + 1));
                }
                "map" => {
                    let (values, depth) = self.parse(within("values")?)?;
                    return Ok((Type::Map(Arc::new(values)), depth + 1));
                }
                "enum" => (Type::Long, 0),
                "fixed" => {
                    let size = within("size")?.as_u64().and_then(|size| usize::try_from(size).ok());
                    (Type::Fixed(size.ok_or("a size that is none")?), 0)
                }
                "record" => self.record(within("fields")?)?,
                name => return self.named(name),
            },
            other => return self.parse(other),
        };
        let name = within("name")?.as_str().ok_or("a name that is not text")?;
        if let Some(space) = schema.get("namespace").and_then(Json::as_str) {
            self.0.insert(format!("{space}.{name}"), typed.clone());
        }
        self.0.insert(name.to_owned(), typed.clone());
        Ok(typed)
    }

    fn record(&mut self, fields: &Json) -> Result<(Type, usize)> {
        let mut depth = 0;
        let mut field = |field: &Json| {
            let name = field.get("name").and_then(Json::as_str).ok_or("a field without a name")?;
            let kind = field.get("type").ok_or(format!("the field {name} without a type"))?;
            let (kind, inner) = self.parse(kind)?;
            depth = depth.max(inner + 1);
            let id = field.get("field-id").and_then(Json::as_i64);
            Ok(RecordField { name: name.to_owned(), id, kind })
        };
        let fields = fields.as_array().ok_or("fields that are not a list")?.iter();
        let fields = fields.map(&mut field).collect::<Result<Arc<[_]>>>()?;
        Ok((Type::Record(fields), depth))
    }
}

/// The bytes that are left.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or("it is cut off")?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of variable length, in zigzag form.
    fn long(&mut self) -> Result<i64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
            }
        }
        Err("a number of more than 64 bits".to_owned())
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.long()?;
        self.take(usize::try_from(len).map_err(|_| "a negative length")?)
    }

    /// The number of elements in the next block of an array or a map; `None` at its end.
    fn block(&mut self) -> Result<Option<usize>> {
        let mut count = self.long()?;
        if count < 0 {
            // Then its size in bytes follows, for who skips it.
            self.long()?;
            count = count.checked_neg().ok_or("a count of more than 63 bits")?;
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        // An element takes a byte at least, or a few bytes could become any number of them.
        if count > self.0.len() {
            return Err(format!("{count} elements in {} bytes", self.0.len()));
        }
        Ok((count > 0).then_some(count))
    }

    /// Recursion is as deep as the schema.
    fn value(&mut self, kind: &Type) -> Result<Value<'a>> {
        Ok(match kind {
            Type::Null => Value::Null,
            Type::Boolean => Value::Boolean(self.take(1)?[0] != 0),
            Type::Long => Value::Long(self.long()?),
            Type::Float => {
                let bits = self.take(4)?.first_chunk().copied().unwrap_or_default();
                Value::Float(f32::from_le_bytes(bits))
            }
            Type::Double => {
                let bits = self.take(8)?.first_chunk().copied().unwrap_or_default();
                Value::Double(f64::from_le_bytes(bits))
            }
            Type::Bytes => Value::Bytes(self.bytes()?),
            Type::Fixed(len) => Value::Bytes(self.take(*len)?),
            Type::Array(items) => {
                while let Some(count) = self.block()? {
                    for _ in 0..count {
                        self.element(items)?;
                    }
                }
                Value::Many
            }
            Type::Map(values) => {
                while let Some(count) = self.block()? {
                    for _ in 0..count {
                        self.bytes()?;
                        self.value(values)?;
                    }
                }
                Value::Many
            }
            Type::Union(branches) => {
                let branch = usize::try_from(self.long()?).ok();
                let branch = branch.and_then(|branch| branches.get(branch));
                self.value(branch.ok_or("a branch of a union that it does not have")?)?
            }
            Type::Record(fields) => Value::Record(self.record(fields)?),
        })
    }

    /// Skips an element of an array, of one byte at least.
    fn element(&mut self, kind: &Type) -> Result<()> {
        let before = self.0.len();
        self.value(kind)?;
        match self.0.len() < before {
            true => Ok(()),
            false => Err("an array of elements without bytes".to_owned()),
        }
    }

    fn record(&mut self, fields: &Arc<[RecordField]>) -> Result<Record<'a>> {
        let values = fields.iter().map(|field| self.value(&field.kind));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(Record { fields: Arc::clone(fields), values })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn zigzag(number: i64) -> Vec<u8> {
        let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
        let mut out = Vec::new();
        while left > 0x7F {
            out.push((left & 0x7F) as u8 | 0x80);
            left >>= 7;
        }
        out.push(left.to_le_bytes()[0]);
        out
    }

    fn text(text: &[u8]) -> Vec<u8> {
        [zigzag(text.len() as i64), text.to_vec()].concat()
    }

    const SYNC: [u8; 16] = *b"0123456789abcdef";

    fn head(schema: &str, codec: &str) -> Vec<u8> {
        let entries = [text(b"avro.schema"), text(schema.as_bytes())];
        let codec = [text(b"avro.codec"), text(codec.as_bytes())];
        let all = [zigzag(-2), zigzag(0), entries.concat(), codec.concat(), zigzag(0)];
        [b"Obj\x01".to_vec(), all.concat(), SYNC.to_vec()].concat()
    }

    fn block(count: i64, bytes: &[u8]) -> Vec<u8> {
        [zigzag(count), zigzag(bytes.len() as i64), bytes.to_vec(), SYNC.to_vec()].concat()
    }

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
        {"name":"a","type":["null","long"],"field-id":7},
        {"name":"b","type":{"type":"array","items":{"type":"record","name":"e","fields":[
            {"name":"k","type":"int"},{"name":"v","type":"bytes"}]}}},
        {"name":"c","type":{"type":"map","values":"double"}},
        {"name":"d","type":{"type":"fixed","name":"f","size":2}},
        {"name":"e","type":["null","e","f"]},
        {"name":"g","type":{"type":"int","logicalType":"date"}},
        {"name":"h","type":"float"},{"name":"i","type":"boolean"}]}"#;

    fn record(a: i64) -> Vec<u8> {
        [
            zigzag(1),
            zigzag(a),
            zigzag(1),
            zigzag(-3),
            text(b"\xff"),
            zigzag(0),
            zigzag(-1),
            zigzag(10),
            text(b"key"),
            1.5_f64.to_le_bytes().to_vec(),
            zigzag(0),
            b"xy".to_vec(),
            zigzag(2),
            b"zz".to_vec(),
            zigzag(19_000),
            0.25_f32.to_le_bytes().to_vec(),
            vec![1],
        ]
        .concat()
    }

    fn longs(file: &[u8]) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        File::open(file)?.records(|record| {
            found.push(record.by_id(7).long().ok_or("no long")?);
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn records_have_their_values() {
        let file = [head(SCHEMA, "null"), block(1, &record(i64::MIN))].concat();
        let opened = File::open(&file).unwrap();
        assert_eq!(opened.entry("avro.codec"), Some("null"));
        let mut count = 0;
        opened
            .records(|record| {
                count += 1;
                assert_eq!(record.get("a").long(), Some(i64::MIN));
                assert!(matches!(record.get("b"), Value::Many));
                assert!(matches!(record.get("c"), Value::Many));
                assert_eq!(record.get("d").text(), Some("xy"));
                assert_eq!(record.get("e").text(), Some("zz"));
                assert_eq!(record.get("g").long(), Some(19_000));
                assert!(matches!(record.get("h"), Value::Float(value) if *value == 0.25));
                assert!(matches!(record.get("i"), Value::Boolean(true)));
                assert!(record.get("none").is_null());
                Ok(())
            })
            .unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn blocks_are_decompressed() {
        let plain = [record(1), record(2), record(-70)].concat();
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
        deflate.write_all(&plain).unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(&plain);
        let snappy = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
        let snappy = [snappy, crc.sum().to_be_bytes().to_vec()].concat();
        for (codec, bytes) in [
            ("null", plain.clone()),
            ("deflate", deflate.finish().unwrap()),
            ("zstandard", zstd::encode_all(&*plain, 1).unwrap()),
            ("snappy", snappy.clone()),
        ] {
            let file = [head(SCHEMA, codec), block(3, &bytes), block(3, &bytes)].concat();
            assert_eq!(longs(&file).unwrap(), [1, 2, -70, 1, 2, -70], "{codec}");
        }
        let mut wrong = snappy;
        *wrong.last_mut().unwrap() ^= 1;
        let error = longs(&[head(SCHEMA, "snappy"), block(3, &wrong)].concat()).unwrap_err();
        assert!(error.contains("checksum"), "{error}");
        let error = longs(&[head(SCHEMA, "xz"), block(3, &plain)].concat()).unwrap_err();
        assert!(error.contains("compressed by xz"), "{error}");
    }

    #[test]
    fn files_that_are_cut_or_changed_are_errors_or_other_values() {
        let file = [head(SCHEMA, "null"), block(2, &[record(1), record(2)].concat())].concat();
        for len in 0..file.len() {
            // A file without blocks is whole.
            let whole = len == head(SCHEMA, "null").len();
            assert_eq!(longs(&file[..len]).is_ok(), whole, "{len}");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut changed = file.clone();
                changed[at] ^= 1 << bit;
                drop(longs(&changed));
            }
        }
    }

    #[test]
    fn a_few_bytes_do_not_become_many_values() {
        let schema = |field: &str| {
            format!(r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":{field}}}]}}"#)
        };
        let of = |field: &str, bytes: &[u8]| {
            let file = [head(&schema(field), "null"), block(1, bytes)].concat();
            longs(&file).unwrap_err()
        };
        let array = r#"{"type":"array","items":"null"}"#;
        assert!(of(array, &zigzag(i64::MAX)).contains("elements in 0 bytes"));
        assert!(of(array, &zigzag(i64::MIN)).contains("cut off"));
        let some = [zigzag(3), vec![0; 8]].concat();
        assert!(of(array, &some).contains("without bytes"));
        let file = [head(&schema("\"null\""), "null"), block(i64::MAX, b"")].concat();
        assert!(longs(&file).unwrap_err().contains("a record without bytes"));
        assert!(of("\"r\"", b"").contains("no type"));
        let mut deep = "\"int\"".to_owned();
        for _ in 0..40 {
            deep = format!(r#"{{"type":"array","items":{deep}}}"#);
        }
        assert!(of(&deep, b"").contains("deeper"));
    }
}
