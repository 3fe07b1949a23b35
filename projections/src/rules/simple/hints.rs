//! What the pre-filter is told of a sentence: verbs and objects of the executor grammar, from lexicons and typed spans.
//!
//! The words themselves it reads on its own.

use super::items::{Item, What};
use super::lexicon::{Lexicons, Sense};
use crate::rules::prefilter::Hints;

/// Collects the verbs and objects that the items may mean.
pub(crate) fn hints<'a>(lexicons: &'a Lexicons, items: &[Item]) -> Hints<'a> {
    let mut hints = Hints::default();
    for item in items {
        match &item.what {
            What::Path { .. } | What::Globs { .. } => hints.objects.push("files"),
            What::Url(_) => hints.objects.push("urls"),
            What::Zone(_) => hints.objects.push("now"),
            What::Lines(_) => hints.objects.push("texts_lines"),
            _ => {}
        }
        for sense in item.senses() {
            match sense {
                Sense::Verb(verb) => {
                    let verbs = lexicons.verbs[*verb].verbs.iter().enumerate();
                    hints.verbs.extend(verbs.map(|(place, name)| (name.as_str(), place == 0)));
                }
                Sense::Object(object) => hints.objects.push(&lexicons.objects[*object]),
                _ => {}
            }
        }
    }
    hints
}
