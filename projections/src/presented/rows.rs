//! Results as templates see them: an entry of a list becomes a template's value only when it is looked at.
//!
//! A presentation shows some fifty lines of what may be a hundred thousand entries. It changes nothing about what a
//! template finds: lengths, slices and loops see the whole list, or as much of it as is to be shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Serde, Value as Shown};
use serde_json::Value;

/// Lists up to this length are handed over as they are.
const SHORT: usize = 64;

/// A list that is one field of an object.
#[derive(Debug)]
struct Rows {
    whole: Arc<Value>,
    field: String,
    length: usize,
}

impl Rows {
    fn at(&self, index: usize) -> Option<&Value> {
        self.whole.get(&self.field)?.get(index).filter(|_| index < self.length)
    }
}

impl Object for Rows {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Shown) -> Option<Shown> {
        self.at(key.as_usize()?).map(|entry| Shown::from(Serde(entry)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.length)
    }
}

/// An object's fields for a template; of the list `entries` at most so many of the first.
pub(crate) fn fields(whole: &Arc<Value>, entries_max: usize) -> Shown {
    let Some(map) = whole.as_object() else { return Shown::from(Serde(&**whole)) };
    let field = |(name, value): (&String, &Value)| {
        let list = value.as_array().map_or(0, Vec::len);
        let length = if name == "entries" { list.min(entries_max) } else { list };
        let shown = if list > SHORT || length < list {
            Shown::from_object(Rows { whole: Arc::clone(whole), field: name.clone(), length })
        } else {
            Shown::from(Serde(value))
        };
        (name.clone(), shown)
    };
    Shown::from(Serde(map.iter().map(field).collect::<BTreeMap<_, _>>()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::messages::fill;

    const ALL: usize = usize::MAX;

    #[track_caller]
    fn check(template: &str, list: &Value, entries_max: usize, said: &str) {
        let whole = Arc::new(json!({ "entries": list, "ok": true }));
        let text = fill(template, BTreeMap::from([("v", fields(&whole, entries_max))])).unwrap();
        assert_eq!(text, said, "{template}");
    }

    #[test]
    fn a_long_list_looks_like_any_list() {
        let list: Value = (0..1000).map(|n| json!({ "n": n, "odd": n % 2 == 1 })).collect();
        for (template, said) in [
            ("{{ v.entries | length }}", "1000"),
            ("{{ v.entries[999].n }} {{ v.entries[-1].n }}", "999 999"),
            ("{% for e in v.entries[2:5] %}{{ e.n }},{% endfor %}", "2,3,4,"),
            ("{{ v.entries | selectattr('odd') | list | length }}", "500"),
            ("{{ v.entries | map(attribute='n') | sum }}", "499500"),
            ("{% for e in v.entries %}{{ 'x' if loop.last and e.n == 999 }}{% endfor %}", "x"),
            ("{{ v.entries is sequence }} {{ v.entries is iterable }} {{ v.ok }}", "True True True"),
            ("{{ v.entries | groupby('odd') | length }}", "2"),
            ("{{ (v.entries | first).n }} {{ (v.entries | last).n }}", "0 999"),
            ("{{ 'yes' if v.entries else 'no' }}", "yes"),
        ] {
            check(template, &list, ALL, said);
        }
    }

    #[test]
    fn of_a_cut_list_no_more_is_there() {
        let list: Value = (0..60).collect();
        check("{{ v.entries | length }} {{ v.entries[-1] }} {{ v.entries | sum }}", &list, 50, "50 49 1225");
        check("{{ v.entries[55] is defined }}", &list, 50, "False");
        check("{{ v.entries | length }}", &json!([]), 50, "0");
    }
}
