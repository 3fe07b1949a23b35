//! Judges what a manifest says to people before anything is signed: presentations that can be filled in, sentences that can be
//! matched. Those that cannot would be passed over in silence later.

use metnos_projections::check_presentation;
use metnos_projections::manifest::Manifest;

use metnos_projections::rules::simple::check_template;

use super::{InstallError, Source};
use crate::located::Located;

/// Refuses presentations and sentences that would never be used.
pub(super) fn judge(source: &Source, manifest: &Manifest) -> Result<(), InstallError> {
    let presented = manifest.presentation.iter().flat_map(|said| [("en", &said.en), ("it", &said.it)]);
    for (language, template) in presented {
        if let Err(fault) = check_presentation(template) {
            let message = format!("it cannot be filled in: {fault}");
            return Err(super::hints::at_value(source, ("presentation", language), &message));
        }
    }
    for (language, sentences) in [("en", &manifest.sentences.en), ("it", &manifest.sentences.it)] {
        for (place, sentence) in sentences.iter().enumerate() {
            if let Err(fault) = check_template(&sentence.text) {
                let text = &source.manifest;
                let offset = start_of(text, language, place).unwrap_or_default();
                return Err(Located::at(&source.label("manifest.toml"), text, offset, &fault.to_string()).into());
            }
        }
    }
    Ok(())
}

/// The byte at which the text of a sentence stands.
fn start_of(text: &str, language: &str, place: usize) -> Option<usize> {
    let document = toml_edit::Document::parse(text).ok()?;
    let sentence = document.get("sentences")?.get(language)?.get(place)?.get("text")?;
    Some(sentence.span()?.start)
}
