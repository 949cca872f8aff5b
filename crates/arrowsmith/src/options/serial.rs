// SPDX-License-Identifier: Apache-2.0
//! Options from any format that serde reads: a map of names to values, as in the C ABI.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{JsonReadOptions, ParquetReadOptions, Value};

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the value of an option")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
                Ok(Value::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
                Ok(Value::Integer(number.into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
                Ok(Value::Integer(number.into()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
                Ok(Value::Other(number.to_string()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Default)
            }

            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Default)
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
                Value::deserialize(from)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Value::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
                while items.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Value::Other("an object".to_owned()))
            }
        }
        from.deserialize_any(Values)
    }
}

macro_rules! deserialize {
    ($options:ty) => {
        impl<'de> Deserialize<'de> for $options {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Options;
                impl<'de> Visitor<'de> for Options {
                    type Value = $options;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("options")
                    }

                    fn visit_map<A: MapAccess<'de>>(
                        self,
                        mut given: A,
                    ) -> Result<$options, A::Error> {
                        let mut options = <$options>::default();
                        while let Some((name, value)) = given.next_entry::<String, Value>()? {
                            options.set(&name, value).map_err(A::Error::custom)?;
                        }
                        Ok(options)
                    }
                }
                from.deserialize_map(Options)
            }
        }
    };
}

deserialize!(JsonReadOptions);
deserialize!(ParquetReadOptions);
