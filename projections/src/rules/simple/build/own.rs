//! Sentences of executors that somebody added: their verbs are in no lexicon, so a clause that begins with one is theirs or
//! nobody's.
//!
//! What a built-in word means is not looked at here: a verb that a lexicon has is never taken from it.

use super::super::items::Item;
use super::super::tools::Indexed;
use super::{Builder, Clause, Trouble};
use crate::messages::Language;

impl<'a> Builder<'a> {
    /// Plans a clause that begins with the verb of an added executor; false where it does not.
    pub(super) fn own(&mut self, clause: &Clause) -> Result<bool, Trouble> {
        let Some(word) = self.own_word(clause.range.clone()) else { return Ok(false) };
        if let Some((tool, filled)) = self.templated(clause, |tool| tool.is_added() && tool.begins_with(word).is_some())
        {
            self.is_own = self.steps.is_empty();
            self.push(tool, filled)?;
            return Ok(true);
        }
        let meant = self.tools.all().iter().find_map(|tool| Some((tool, tool.begins_with(word)?)).filter(is_added));
        let Some((tool, said)) = meant else { return Ok(false) };
        Err(Trouble::OwnSentence { tool: tool.name().to_owned(), said: said.text.clone() })
    }

    /// The first word of a clause, where it is an added executor's and in no lexicon as it is written.
    pub(super) fn own_word(&self, mut range: std::ops::Range<usize>) -> Option<&'a str> {
        let items: &'a [Item] = self.items;
        let first = range.find(|&at| !items[at].is_noise() && !items[at].is_punctuation())?;
        let word = items[first].folded.as_str();
        let is_theirs = |tool: &Indexed| tool.is_added() && tool.begins_with(word).is_some();
        (self.is_in_no_lexicon(first) && self.tools.all().iter().any(is_theirs)).then_some(word)
    }

    /// Whether a word is in no lexicon as it is written, whatever it was taken for: «stamp» for the «stampa» of Italian.
    pub(super) fn is_in_no_lexicon(&self, at: usize) -> bool {
        let item = &self.items[at];
        item.is_word()
            && [Language::En, Language::It].iter().all(|l| self.lexicons.senses_of(&item.folded, *l).is_empty())
    }
}

fn is_added<T>((tool, _): &(&Indexed, T)) -> bool {
    tool.is_added()
}
