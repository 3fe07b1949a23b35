//! The canonical text of anything that serialises, written as it comes: no tree of values is built for it, so the state of a
//! long history costs no more than its text.
//!
//! Fields that come in another order than that of their names are put into it once their object ends.

use std::fmt::{self, Display, Write as _};

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Number, Value};

use super::write_text;

/// The text in the making.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) out: String,
}

/// Why something is no JSON.
#[derive(Debug)]
pub(super) struct Unfit(String);

impl Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

impl serde::ser::Error for Unfit {
    fn custom<T: Display>(what: T) -> Self {
        Self(what.to_string())
    }
}

type Done = Result<(), Unfit>;

impl Writer {
    fn shown(&mut self, value: impl Display) -> Done {
        write!(self.out, "{value}").map_err(Unfit::custom)
    }

    /// `{"Name":`, before what stands behind it.
    fn variant(&mut self, name: &str) {
        self.out.push('{');
        write_text(name, &mut self.out);
        self.out.push(':');
    }
}

macro_rules! whole_numbers {
    ($($name:ident: $type:ty),+) => {
        $(fn $name(self, value: $type) -> Done {
            self.shown(value)
        })+
    };
}

impl<'w> Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Unfit;
    type SerializeSeq = Items<'w>;
    type SerializeTuple = Items<'w>;
    type SerializeTupleStruct = Items<'w>;
    type SerializeTupleVariant = Items<'w>;
    type SerializeMap = Fields<'w>;
    type SerializeStruct = Fields<'w>;
    type SerializeStructVariant = Fields<'w>;

    whole_numbers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_bool(self, value: bool) -> Done {
        self.shown(value)
    }

    fn serialize_f32(self, value: f32) -> Done {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Done {
        match Number::from_f64(value) {
            Some(number) => self.shown(number),
            None => self.serialize_unit(),
        }
    }

    fn serialize_char(self, value: char) -> Done {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Done {
        write_text(value, &mut self.out);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.out.push('}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w>, Unfit> {
        Ok(Items::begin(self, "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'w>, Unfit> {
        Ok(Items::begin(self, "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'w>, Unfit> {
        Ok(Items::begin(self, "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'w>, Unfit> {
        self.variant(variant);
        Ok(Items::begin(self, "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'w>, Unfit> {
        Ok(Fields::begin(self, "}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'w>, Unfit> {
        Ok(Fields::begin(self, "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'w>, Unfit> {
        self.variant(variant);
        Ok(Fields::begin(self, "}}"))
    }
}

/// A list in the making.
pub(super) struct Items<'w> {
    writer: &'w mut Writer,
    is_first: bool,
    end: &'static str,
}

impl<'w> Items<'w> {
    fn begin(writer: &'w mut Writer, end: &'static str) -> Self {
        writer.out.push('[');
        Self { writer, is_first: true, end }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.push(',');
        }
        value.serialize(&mut *self.writer)
    }

    fn finish(self) {
        self.writer.out.push_str(self.end);
    }
}

macro_rules! items {
    ($($trait:ident $method:ident),+) => {
        $(impl $trait for Items<'_> {
            type Ok = ();
            type Error = Unfit;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                self.item(value)
            }

            fn end(self) -> Done {
                self.finish();
                Ok(())
            }
        })+
    };
}

items!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

/// An object in the making: where each of its fields lies in the text, by name.
pub(super) struct Fields<'w> {
    writer: &'w mut Writer,
    begin: usize,
    places: Vec<(String, usize)>,
    is_sorted: bool,
    end: &'static str,
}

impl<'w> Fields<'w> {
    fn begin(writer: &'w mut Writer, end: &'static str) -> Self {
        writer.out.push('{');
        let begin = writer.out.len();
        Self { writer, begin, places: Vec::new(), is_sorted: true, end }
    }

    fn name(&mut self, name: String) {
        self.is_sorted &= self.places.last().is_none_or(|(last, _)| *last < name);
        if !self.places.is_empty() {
            self.writer.out.push(',');
        }
        let at = self.writer.out.len();
        write_text(&name, &mut self.writer.out);
        self.writer.out.push(':');
        self.places.push((name, at));
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Done {
        self.name(name.to_owned());
        value.serialize(&mut *self.writer)
    }

    fn finish(self) {
        let Self { writer, begin, mut places, is_sorted, end } = self;
        if !is_sorted {
            let fields = writer.out.split_off(begin);
            // A field reaches to the comma before the next one.
            let ends: Vec<usize> = places.iter().skip(1).map(|(_, at)| at - 1).chain([begin + fields.len()]).collect();
            let mut ranges: Vec<((String, usize), usize)> = places.drain(..).zip(ends).collect();
            ranges.sort_by(|one, other| one.0.cmp(&other.0));
            for (index, ((_, at), to)) in ranges.into_iter().enumerate() {
                if index > 0 {
                    writer.out.push(',');
                }
                writer.out.push_str(&fields[at - begin..to - begin]);
            }
        }
        writer.out.push_str(end);
    }
}

impl SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = Unfit;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        let name = match serde_json::to_value(key).map_err(Unfit::custom)? {
            Value::String(name) => name,
            Value::Number(number) => number.to_string(),
            other => return Err(Unfit(format!("{other} is no name of a field"))),
        };
        self.name(name);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Done {
        self.finish();
        Ok(())
    }
}

macro_rules! fields {
    ($($trait:ident),+) => {
        $(impl $trait for Fields<'_> {
            type Ok = ();
            type Error = Unfit;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
                self.field(name, value)
            }

            fn end(self) -> Done {
                self.finish();
                Ok(())
            }
        })+
    };
}

fields!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{of, to_string};
    use super::*;

    #[derive(serde::Serialize)]
    enum Kind {
        Plain,
        Of(i8),
        Pair(bool, char),
        Named { z: f32, a: Option<()> },
    }

    #[derive(serde::Serialize)]
    struct Unit;

    #[derive(serde::Serialize)]
    struct Wrapped(Vec<u8>);

    #[derive(serde::Serialize)]
    struct All {
        zulu: Vec<Kind>,
        by_number: BTreeMap<i64, &'static str>,
        unit: Unit,
        wrapped: Wrapped,
        alpha: (u64, f64, f64),
        nothing: Vec<()>,
    }

    #[test]
    fn every_shape_is_written_as_its_tree_is() {
        let all = All {
            zulu: vec![Kind::Plain, Kind::Of(-1), Kind::Pair(true, '"'), Kind::Named { z: 0.1, a: Some(()) }],
            by_number: BTreeMap::from([(-2, "\u{1}"), (10, "é"), (9, "")]),
            unit: Unit,
            wrapped: Wrapped(vec![0, 255]),
            alpha: (u64::MAX, f64::NAN, 1e300),
            nothing: Vec::new(),
        };
        let tree = to_string(&serde_json::to_value(&all).unwrap());
        assert_eq!(of(&all).unwrap(), tree);
        assert!(tree.starts_with("{\"alpha\":[18446744073709551615,null,1e+300],\"by_number\":{\"-2\":"), "{tree}");
        assert_eq!(of(&BTreeMap::from([((1, 2), 3)])), None);
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".{0,3}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().rev().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_tree_is_written_alike(value in tree()) {
            prop_assert_eq!(of(&value).unwrap(), to_string(&value));
        }
    }
}
