//! What a selector comes to: one pass over the log, and over the blobs for a text. Nothing is changed here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use metnos_log::envelope::Body;
use metnos_log::{BlobHash, Event, Kept, Recorded, TurnId};
use serde_json::{Value, json};

use super::closed::begins_closed;
use super::pieces::Pieces;
use super::search::Sought;
use super::shown::Shown;
use super::spelling::Spelling;
use super::{ErasureError, Selected, Selector, TEXT_BYTES_MIN};
use crate::engine::{HISTORY_CHARACTERS, shortened};
use crate::instance::Instance;

/// Finds what a selector comes to; changes nothing, and waits for nothing: whether it can go now, [`refuse_open`] says.
pub fn select(instance: &Instance, selector: &Selector) -> Result<Selected, ErasureError> {
    if matches!(selector, Selector::Text(text) if text.len() < TEXT_BYTES_MIN) {
        return Err(ErasureError::Short);
    }
    let until = instance.log.head().size;
    let reader = instance.log.reader();
    let wording = if let Selector::Text(text) = selector { Some(Wording::of(text)) } else { None };
    let blobs = wording.as_ref().map(|wording| blobs_holding(instance, wording)).transpose()?.unwrap_or_default();
    let mut search = Search::new(selector, blobs, wording);
    reader.each(1, |recorded| {
        let recorded = reader.rehydrated(recorded)?;
        search.take(recorded);
        Ok::<bool, ErasureError>(true)
    })?;
    let selected = Selected { until, ..search.end() };
    if let Selector::Event(seq) = selector
        && let Some(event) = reader.event(*seq)?
        && !event.is_erasable()
    {
        return Err(ErasureError::Bare { seq: *seq, kind: event.kind.into_owned() });
    }
    Ok(selected)
}

/// A pass over the log.
struct Search<'s> {
    selector: &'s Selector,
    selected: Selected,
    /// What the selected events and turns are called, so that what was said because of them is found.
    names: BTreeSet<String>,
    /// How what was said in the turns begins, to be looked for in what later turns quote: they quote no more than that.
    quotes: BTreeSet<String>,
    /// The sentences of turns that go, until they have ended.
    asked: BTreeMap<TurnId, String>,
    /// Sentences and answers as later turns quote them, however short they are.
    pairs: BTreeSet<(String, String)>,
    /// The turns that do.
    quoting: BTreeSet<TurnId>,
    /// The blobs that hold the text.
    holding: Blobs,
    /// The text.
    wording: Option<Wording>,
    /// The blobs that events name which stay.
    kept: BTreeSet<BlobHash>,
}

impl<'s> Search<'s> {
    fn new(selector: &'s Selector, holding: Blobs, wording: Option<Wording>) -> Self {
        let names = if let Selector::Turn(id) = selector { [id.to_string()].into() } else { BTreeSet::new() };
        let (selected, quotes, kept) = (Selected::default(), BTreeSet::new(), BTreeSet::new());
        let (asked, pairs, quoting) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { selector, selected, names, quotes, asked, pairs, quoting, holding, wording, kept }
    }

    fn take(&mut self, mut recorded: Recorded) {
        self.look_at_names(&recorded);
        if matches!(recorded.body, Body::Erased | Body::Unknown(_)) {
            return;
        }
        let blobs: Vec<BlobHash> = recorded.events_mut().iter_mut().flat_map(Event::blobs).collect();
        // Long texts are looked into like short ones: as blobs they are JSON, in which a quotation mark is written otherwise.
        recorded.events_mut().iter_mut().flat_map(Event::kept).for_each(Kept::settle_inline);
        let json: Value = recorded.events().iter().map(Event::to_json).collect();
        let is_meant = blobs.iter().any(|blob| self.holding.exact.contains(blob)) || self.is_meant(&recorded, &json);
        if let Some(Event::TurnOpened(opened)) = recorded.event()
            && (opened.history.iter().any(|pair| self.pairs.contains(pair)) || self.quotes_any(&json!(opened.history)))
        {
            self.quoting.extend(recorded.turn);
        }
        // What only quotes goes by itself: its turn is another one.
        let goes = is_meant || self.is_quoting(&recorded, &json);
        if is_meant {
            self.names.insert(recorded.id.to_string());
            self.names.extend(recorded.turn.map(|turn| turn.to_string()));
        }
        if goes {
            self.selected.turns.extend(recorded.turn);
        }
        self.note_taken_apart(&recorded, is_meant);
        if !goes || !recorded.is_erasable() {
            if recorded.is_erasable() {
                self.look_for_spellings(recorded.seq, &json, &blobs);
                if blobs.iter().any(|blob| self.holding.closed.contains(blob)) {
                    self.selected.closed.insert(recorded.seq);
                }
            } else if is_meant && self.wording.is_some() {
                *self.selected.staying.entry(recorded.kind.to_string()).or_default() += 1;
            }
            self.kept.extend(blobs);
            return;
        }
        self.selected.seqs.insert(recorded.seq);
        self.selected.words.name(recorded.turn.map_or(recorded.id.0, |turn| turn.0));
        self.selected.blobs.extend(blobs);
        *self.selected.kinds.entry(recorded.kind.to_string()).or_default() += 1;
        if recorded.kind.starts_with("schedule_") {
            self.selected.schedules.extend(recorded.stream.strip_prefix("schedule/").map(str::to_owned));
        }
        if !is_meant {
            return;
        }
        // A text is looked for by itself.
        if self.wording.is_none() {
            self.selected.words.take(&mut recorded, &json, matches!(self.selector, Selector::Event(_)));
        }
        if let Some(Event::TurnOpened(opened)) = recorded.event() {
            self.selected.texts.insert(opened.text.clone());
            self.asked.extend(recorded.turn.map(|turn| (turn, opened.text.clone())));
            self.quote(&opened.text);
        }
        if let Some(Event::TurnClosed(closed)) = recorded.event() {
            let told = closed.message.get().unwrap_or_default();
            let asked = recorded.turn.and_then(|turn| self.asked.remove(&turn));
            self.pairs.extend(asked.map(|asked| (shortened(&asked), shortened(told))));
            self.quote(told);
        }
    }

    /// Looks where nothing is erased: into how an event is called, and into one of a kind that a newer program wrote.
    fn look_at_names(&mut self, recorded: &Recorded) {
        let Some(Wording { sought, .. }) = &self.wording else { return };
        let names = [recorded.kind.as_ref(), &recorded.stream, &recorded.actor];
        self.selected.is_in_names |= names.iter().any(|name| sought.is_in(name.as_bytes()));
        if let Body::Unknown(payload) = &recorded.body
            && sought.is_in(payload)
        {
            *self.selected.staying.entry(recorded.kind.to_string()).or_default() += 1;
        }
    }

    /// Notes whether what a request was understood by holds the text as the request does.
    fn note_taken_apart(&mut self, recorded: &Recorded, is_meant: bool) {
        let Some(turn) = recorded.turn.filter(|_| is_meant && self.wording.is_some()) else { return };
        match &*recorded.kind {
            "turn_opened" => self.selected.taken_apart.insert(turn),
            "plan_proposed" => self.selected.taken_apart.remove(&turn),
            _ => false,
        };
    }

    /// Notes how the text is spelled in an event that stays, and which pieces of it stand there.
    fn look_for_spellings(&mut self, seq: u64, json: &Value, blobs: &[BlobHash]) {
        let Some(Wording { spelling, pieces, .. }) = &self.wording else { return };
        let mut found = BTreeSet::new();
        spelling.others_in(json, &mut found);
        pieces_in(json, pieces, &mut found);
        found.extend(blobs.iter().filter_map(|blob| self.holding.spelled.get(blob)).flatten().cloned());
        if !found.is_empty() {
            self.selected.spelled.insert(seq);
            self.selected.spellings.append(&mut found);
        }
    }

    /// What was found; a blob that something else names stays.
    fn end(self) -> Selected {
        let Self { mut selected, kept, .. } = self;
        selected.blobs.retain(|blob| !kept.contains(blob));
        // What holds another of them goes with that.
        let all = selected.spellings.clone();
        selected.spellings.retain(|long| !all.iter().any(|short| short != long && long.contains(short)));
        selected
    }

    fn quote(&mut self, text: &str) {
        // Short answers are everybody's.
        if text.len() >= 16 {
            self.quotes.insert(text.chars().take(HISTORY_CHARACTERS).collect());
        }
    }

    fn is_meant(&self, recorded: &Recorded, json: &Value) -> bool {
        match self.selector {
            Selector::Event(seq) => recorded.seq == *seq,
            Selector::Text(_) => self.wording.as_ref().is_some_and(|wording| holds(json, &|text| wording.is_in(text))),
            Selector::Turn(id) => recorded.turn == Some(*id) || self.follows(recorded, json),
            Selector::Actor(actor) => {
                let own = recorded.actor == *actor && (recorded.turn.is_some() || is_said(&recorded.kind));
                own || self.follows(recorded, json)
            }
        }
    }

    /// Whether it holds what was said in what is selected: what a model was asked, and what a request was understood by.
    fn is_quoting(&self, recorded: &Recorded, json: &Value) -> bool {
        // A turn of the same words that was reminded of nothing is another one.
        let is_reminded = recorded.turn.is_some_and(|turn| self.quoting.contains(&turn));
        is_reminded
            && (matches!(&*recorded.kind, "model_asked" | "turn_opened")
                || recorded.kind.starts_with("model_") && self.quotes_any(json))
    }

    /// Whether something outside of turns was written because of what is selected, or led to it.
    fn follows(&self, recorded: &Recorded, json: &Value) -> bool {
        let caused = recorded.cause.is_some_and(|cause| self.names.contains(&cause.to_string()));
        recorded.turn.is_none() && (caused || names_any(json, &self.names))
    }

    fn quotes_any(&self, json: &Value) -> bool {
        self.quotes.iter().any(|quote| holds(json, &|text| text.contains(quote)))
    }
}

/// The blobs in which a text stands.
#[derive(Default)]
struct Blobs {
    exact: BTreeSet<BlobHash>,
    /// Those in which it is spelled otherwise, or in pieces.
    spelled: BTreeMap<BlobHash, BTreeSet<String>>,
    /// Those in forms that are not looked into.
    closed: BTreeSet<BlobHash>,
}

/// A text as it is looked for.
struct Wording {
    /// In the forms in which files are searched for it: what is erased and what is found left are the same.
    sought: Sought,
    /// As a person is shown it.
    shown: Shown,
    /// In other spellings.
    spelling: Spelling,
    pieces: Pieces,
}

impl Wording {
    fn of(text: &str) -> Self {
        Self {
            sought: Sought::of(text),
            shown: Shown::of(text),
            spelling: Spelling::of(text),
            pieces: Pieces::of(text),
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.sought.is_in(text.as_bytes()) || self.shown.is_in(text)
    }
}

/// Looks into all blobs; into copies of files as they were before they were encrypted.
fn blobs_holding(instance: &Instance, wording: &Wording) -> Result<Blobs, ErasureError> {
    let mut holding = Blobs::default();
    instance.log.reader().each_blob(|hash, bytes| {
        let image = instance.keys.unseal(&bytes);
        let plain = image.as_deref().unwrap_or(&bytes);
        let text = Value::String(String::from_utf8_lossy(plain).into_owned());
        let is_shown = || holds(&text, &|text| wording.shown.is_in(text));
        if wording.sought.is_in(&bytes) || wording.sought.is_in(plain) || is_shown() {
            holding.exact.insert(hash);
        } else if begins_closed(plain) {
            holding.closed.insert(hash);
        }
        let mut found = BTreeSet::new();
        wording.spelling.others(plain, &mut found);
        pieces_in(&text, &wording.pieces, &mut found);
        if !found.is_empty() {
            holding.spelled.insert(hash, found);
        }
        Ok::<(), ErasureError>(())
    })?;
    Ok(holding)
}

/// What a person sends outside of turns.
fn is_said(kind: &str) -> bool {
    matches!(
        kind,
        "update_received" | "document_received" | "schedule_created" | "schedule_modified" | "message_queued"
    )
}

/// Whether something is true of any string of a value; strings that hold JSON are looked into as well.
fn holds(value: &Value, says: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(found) => {
            says(found)
                || found.starts_with(['{', '[', '"'])
                    && serde_json::from_str::<Value>(found).is_ok_and(|inner| holds(&inner, says))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, says)),
        Value::Object(members) => members.iter().any(|(key, value)| says(key) || holds(value, says)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The pieces of a text that stand in the strings of a value; those in strings that hold JSON as well.
fn pieces_in(value: &Value, pieces: &Pieces, into: &mut BTreeSet<String>) {
    let found = RefCell::new(into);
    holds(value, &|text| {
        pieces.in_text(text, &mut found.borrow_mut());
        false
    });
}

fn names_any(value: &Value, names: &BTreeSet<String>) -> bool {
    match value {
        Value::String(found) => names.contains(found),
        Value::Array(items) => items.iter().any(|item| names_any(item, names)),
        Value::Object(members) => members.values().any(|value| names_any(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
