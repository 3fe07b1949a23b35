//! What waits for a person, wherever it was asked, and answers to it from another place.
//!
//! A question is named by its turn and by what it asks: the name of one never stands for another. Where somebody of this
//! process waits for the answer the turn goes on there; of a chat that nobody serves just now, whoever answers carries it on.
//! What tasks ask is answered by the scheduler's own means.

use metnos_log::event::dialog::DialogAnswered;
use metnos_log::{Event, EventId, TurnId};
use metnos_projections::machines::actors::{HOST, SYSTEM};
use metnos_projections::machines::turn::state::Asked;
use metnos_projections::machines::turn::{DOUBT, Phase, Turn, stream};
use metnos_projections::messages::Language;

use crate::channel::{outbox, telegram};
use crate::engine::{self, Answer, EngineError, Person};
use crate::instance::{Instance, InstanceError, now};
use crate::sandbox::{CancelFlag, Progress};
use crate::scheduler::questions::TAG_LENGTH;
use crate::seats::{Handed, Said, Seat};

/// How much of a turn's id names its questions.
const TURN_LENGTH: usize = 5;
/// How a dialog's number begins in its name: no digest has that letter.
const DIALOG: char = 'q';
/// The channel of turns that a schedule begins.
pub const SCHEDULE: &str = "schedule";
/// How many turns are looked through for what became of a question.
const LOOKED_AT_MAX: usize = 1000;

/// A question that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Names it: an answer by that name is to nothing else.
    pub name: String,
    /// Its turn.
    pub turn: TurnId,
    /// What it wants.
    pub wants: Wants,
    /// Whether it is about what may have happened already.
    pub is_doubt: bool,
    /// What the person had asked for.
    pub request: String,
    /// The question.
    pub question: String,
    /// Since when it waits, µs.
    pub since: i64,
    /// Until when, µs.
    pub until: i64,
    /// Where it was put: `console`, `telegram`, `schedule`.
    pub channel: String,
    /// Where on it: a chat; the number of a task.
    pub address: Option<String>,
    /// The language that it is put in.
    pub language: Language,
}

/// What a question wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wants {
    /// A yes or a no to what has this digest.
    Consent(String),
    /// Words for the dialog of this id.
    Words(String),
}

impl Wants {
    /// What the question is known by in its turn.
    fn key(&self) -> &str {
        match self {
            Self::Consent(key) | Self::Words(key) => key,
        }
    }
}

/// Why a question is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAnswered {
    /// No question ever had this name, as far as is known.
    NoSuch,
    /// Two have it.
    Ambiguous,
    /// It is somebody else's.
    Foreign,
    /// It was answered: `yes`, `no`, or `words`; by which means, and when, µs.
    Answered(&'static str, String, i64),
    /// Its time was over then, µs.
    Lapsed(i64),
    /// Its turn ended before it was answered.
    Dropped,
    /// It waits still, where nobody takes an answer.
    Untaken,
    /// It takes another kind of answer: whether that is a yes or no.
    OtherKind {
        /// Whether it wants a yes or no.
        consent: bool,
    },
}

/// The questions that wait for whoever asks, the oldest first.
pub fn waiting(instance: &Instance) -> Result<Vec<Waiting>, EngineError> {
    let turns = instance.turns();
    let theirs: Vec<(TurnId, String)> = turns
        .open()
        .filter(|(_, turn)| is_theirs(instance, turn.actor))
        .map(|(id, turn)| (id, turn.channel.to_owned()))
        .collect();
    let mut found = Vec::new();
    for (id, channel) in theirs {
        let turn = engine::folded(instance, id)?;
        found.extend(asked(instance, id, &turn, &channel).filter(|waiting| now().0 < waiting.until));
    }
    Ok(found)
}

/// Whether a turn is of whoever asks: what the program itself does by its schedules is the host's.
fn is_theirs(instance: &Instance, actor: Option<&str>) -> bool {
    let whose = actor.filter(|actor| *actor != SYSTEM).unwrap_or(HOST);
    whose == instance.actor
}

/// What a turn asks now.
fn asked(instance: &Instance, id: TurnId, turn: &Turn, channel: &str) -> Option<Waiting> {
    let opened = turn.opened.as_ref()?;
    let of = |name, wants, question, until| Waiting {
        name,
        turn: id,
        wants,
        is_doubt: turn.asked.as_ref().is_some_and(|asked| asked.about == DOUBT),
        request: turn.text().to_owned(),
        question,
        since: turn.waits_since.map_or(0, |since| since.0),
        until,
        channel: channel.to_owned(),
        address: opened.address.clone(),
        language: turn.language,
    };
    match turn.phase {
        Phase::Asking => {
            let asked = turn.asked.as_ref()?;
            let name = consent_name(id, opened.address.as_deref().filter(|_| channel == SCHEDULE), &asked.digest);
            Some(of(name, Wants::Consent(asked.digest.clone()), asked.text.clone(), asked.until))
        }
        Phase::Waiting => {
            let until = instance.turns().get(id)?.waits?.until;
            let dialog = turn.dialog()?;
            let question = turn.message.clone().unwrap_or_default();
            Some(of(dialog_name(id, &dialog), Wants::Words(dialog), question, until))
        }
        _ => None,
    }
}

fn head(id: TurnId) -> String {
    let id = id.to_string().to_lowercase();
    id[id.len().saturating_sub(TURN_LENGTH)..].to_owned()
}

/// A task's question is named as `metnos inbox` names it.
fn consent_name(id: TurnId, schedule: Option<&str>, digest: &str) -> String {
    let head = schedule.map_or_else(|| head(id), str::to_owned);
    format!("{head}-{}", digest.get(..TAG_LENGTH).unwrap_or_default())
}

fn dialog_name(id: TurnId, dialog: &str) -> String {
    let number = dialog.rsplit('-').next().unwrap_or_default();
    format!("{}-{DIALOG}{number}", head(id))
}

/// The question of a name, or what became of it.
pub fn find(instance: &Instance, name: &str) -> Result<Result<Waiting, NotAnswered>, EngineError> {
    let name = name.trim().trim_start_matches('#').to_lowercase();
    let mut named = waiting(instance)?.into_iter().filter(|waiting| waiting.name == name);
    match (named.next(), named.next()) {
        (Some(waiting), None) => Ok(Ok(waiting)),
        (Some(_), Some(_)) => Ok(Err(NotAnswered::Ambiguous)),
        (None, _) => Ok(Err(became(instance, &name)?)),
    }
}

/// What became of a question that does not wait for whoever asks.
fn became(instance: &Instance, name: &str) -> Result<NotAnswered, EngineError> {
    let Some((of, _)) = name.rsplit_once('-') else { return Ok(NotAnswered::NoSuch) };
    let turns = instance.turns();
    let can_be = |(id, channel): &(TurnId, &str)| head(*id) == of || *channel == SCHEDULE;
    let candidates = turns.iter().rev().take(LOOKED_AT_MAX).map(|(id, turn)| (id, turn.channel)).filter(can_be);
    for (id, channel) in candidates {
        let Some(told) = became_in(instance, id, channel, name)? else { continue };
        let is_theirs = is_theirs(instance, turns.get(id).and_then(|turn| turn.actor));
        return Ok(if is_theirs { told } else { NotAnswered::Foreign });
    }
    Ok(NotAnswered::NoSuch)
}

/// The same within one turn; none where it never asked that.
fn became_in(instance: &Instance, id: TurnId, channel: &str, name: &str) -> Result<Option<NotAnswered>, EngineError> {
    let reader = instance.log.reader();
    let (mut schedule, mut until, mut told) = (None, 0, None);
    let mut this: Option<String> = None;
    // What becomes of a dialog stands in a stream of its own.
    let number = name.rsplit_once('-').and_then(|(_, tag)| tag.strip_prefix(DIALOG));
    let of = number.map_or_else(|| stream(id), |number| format!("dialog/{id}-{number}"));
    for recorded in reader.stream(&of)? {
        let recorded = reader.rehydrated(recorded)?;
        let lapses = |seconds: u32| recorded.time.0.saturating_add(i64::from(seconds) * 1_000_000);
        let is_this = |key: &str| this.as_deref() == Some(key);
        let answered = |how, by: &str| Some(NotAnswered::Answered(how, by.to_owned(), recorded.time.0));
        match recorded.event() {
            Some(Event::TurnOpened(opened)) if channel == SCHEDULE => schedule.clone_from(&opened.address),
            Some(Event::ConsentAsked(asked)) if consent_name(id, schedule.as_deref(), &asked.digest) == name => {
                (this, until, told) = (Some(asked.digest.clone()), lapses(asked.expires_s), None);
            }
            Some(Event::DialogOpened(opened)) if dialog_name(id, &opened.dialog) == name => {
                (this, until, told) = (Some(opened.dialog.clone()), lapses(opened.expires_s), None);
            }
            Some(Event::ConsentGiven(given)) if is_this(&given.digest) => told = answered("yes", &given.by),
            Some(Event::ConsentDenied(denied)) if is_this(&denied.digest) => told = answered("no", &denied.by),
            Some(Event::DialogAnswered(DialogAnswered { dialog, channel, .. })) if is_this(dialog) => {
                told = answered("words", channel);
            }
            Some(Event::ConsentExpired(expired)) if is_this(&expired.digest) => {
                told = Some(NotAnswered::Lapsed(recorded.time.0));
            }
            Some(Event::DialogExpired(expired)) if is_this(&expired.dialog) => {
                told = Some(NotAnswered::Lapsed(recorded.time.0));
            }
            Some(Event::DialogWithdrawn(withdrawn)) if is_this(&withdrawn.dialog) => told = Some(NotAnswered::Dropped),
            Some(Event::TurnClosed(_)) if this.is_some() && told.is_none() => told = Some(NotAnswered::Dropped),
            _ => {}
        }
    }
    let open = if now().0 < until { NotAnswered::Untaken } else { NotAnswered::Lapsed(until) };
    Ok(this.map(|_| told.unwrap_or(open)))
}

/// Hands an answer to whoever of this process waits for it, where the turn then goes on; whether somebody does.
pub fn hand(instance: &Instance, waiting: &Waiting, said: Said) -> Result<Result<bool, NotAnswered>, EngineError> {
    let is_wanted =
        matches!((&said, &waiting.wants), (Said::Consent(_), Wants::Consent(_)) | (Said::Words(_), Wants::Words(_)));
    if !is_wanted {
        return Ok(Err(NotAnswered::OtherKind { consent: matches!(waiting.wants, Wants::Consent(_)) }));
    }
    match instance.seats.hand(waiting.turn, waiting.wants.key(), said) {
        Handed::Taken => Ok(Ok(true)),
        Handed::Late => {
            instance.catch_up()?;
            Ok(Err(became(instance, &waiting.name)?))
        }
        Handed::Nobody => Ok(Ok(false)),
    }
}

/// Answers the consent of a chat that nobody serves just now, and carries its turn on, as far as this; what it asks after that
/// waits again.
pub fn carry_on(
    instance: &Instance,
    waiting: &Waiting,
    is_yes: bool,
    cancel: CancelFlag,
) -> Result<Result<Turn, NotAnswered>, EngineError> {
    let turn = engine::folded(instance, waiting.turn)?;
    let is_asked = turn.phase == Phase::Asking
        && turn.asked.as_ref().is_some_and(|asked| asked.digest == waiting.wants.key() && now().0 < asked.until);
    // Nobody is left to whom a turn of a terminal could go on.
    if !is_asked || waiting.channel != telegram::CHANNEL {
        return Ok(Err(became(instance, &waiting.name)?));
    }
    let person = Once { digest: waiting.wants.key(), is_yes };
    let turn = engine::go_on(instance, &person, cancel, (waiting.turn, turn))?;
    instance.catch_up().map_err(InstanceError::from)?;
    Ok(Ok(turn))
}

/// Whoever gave one answer to one question, and is not asked anything else.
struct Once<'a> {
    digest: &'a str,
    is_yes: bool,
}

impl Person for Once<'_> {
    fn consent(&self, _about: &str, _text: &str, _language: Language) -> Answer {
        // Nothing can be bound to a text alone.
        Answer::Later
    }

    fn consent_to(&self, asked: &Asked, _language: Language, _elsewhere: &Seat<'_>) -> Answer {
        match Answer::elsewhere(&Said::Consent(self.is_yes)) {
            Some(answer) if asked.digest == self.digest && now().0 < asked.until => answer,
            _ => Answer::Later,
        }
    }

    fn progress(&self, _progress: &Progress) {}
}

/// Tells the chat of a question how its turn ended, or what it asks next: somebody answered in another place.
pub fn tell_chat(instance: &Instance, waiting: &Waiting, turn: &Turn) -> Result<(), InstanceError> {
    let (telegram::CHANNEL, Some(address)) = (waiting.channel.as_str(), &waiting.address) else { return Ok(()) };
    let message = outbox::Message {
        address: instance.projected().channels.get(telegram::CHANNEL).now_at(address).to_owned(),
        purpose: if turn.phase == Phase::Waiting { "question" } else { "answer" },
        text: turn.message.clone().unwrap_or_default(),
        for_event: Some(EventId(waiting.turn.0)),
        key: waiting.wants.key().to_owned(),
        ..outbox::Message::default()
    };
    outbox::record(instance, vec![message.draft(instance, telegram::CHANNEL)])
}
