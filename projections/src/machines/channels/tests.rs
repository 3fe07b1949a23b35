//! What channels remember, by given events.

use metnos_log::Kept;
use metnos_log::event::actor::{AddressBound, AddressRevoked};
use metnos_log::event::channel::{
    AddressMoved, Button, ButtonPressed, DeliveryFailed, DeliveryStarted, MessageMaybeSent, MessageSent,
    ProgressRemoved, ProgressShown, UpdateReceived, UpdateSettled,
};
use metnos_log::event::turn::{ConsentExpired, TurnClosed};

use super::*;
use crate::projection;

const TURN: TurnId = TurnId([7; 16]);
const DAY: i64 = 24 * 3600 * 1_000_000;

fn id(number: u64) -> EventId {
    EventId::derived(Micros(0), "test", &[&number.to_be_bytes()])
}

#[derive(Default)]
struct Given {
    channels: Channels,
    seq: u64,
}

impl Given {
    fn at(&mut self, time: i64, stream: &str, event: Event) -> &mut Self {
        self.seq += 1;
        let turn = stream.starts_with("turn/").then_some(TURN);
        let (stream, cause) = (stream.to_owned(), turn.map(|_| id(1)));
        let made = projection::recorded(self.seq, time, event);
        self.channels.evolve(&Recorded { id: id(self.seq), stream, turn, cause, ..made });
        let restored = Channels::restore(&self.channels.snapshot());
        assert_eq!(restored.as_ref(), Some(&self.channels), "a checkpoint says the same");
        self
    }

    fn then(&mut self, event: impl Into<Event>) -> &mut Self {
        self.at(0, "channel/telegram", event.into())
    }

    fn telegram(&self) -> &Channel {
        self.channels.get("telegram")
    }
}

fn update(number: i64) -> Event {
    let text = str::to_owned;
    let (channel, account, kind) = (text("telegram"), text("99"), text("message"));
    UpdateReceived { channel, account, update: number, kind, address: Some(text("7")), raw: Kept::text("{}") }.into()
}

fn queued(purpose: &str, bound: Option<Bound>) -> Event {
    let button = |id: &str| Button { id: id.to_owned(), label: id.to_owned() };
    MessageQueued {
        channel: "telegram".to_owned(),
        address: "7".to_owned(),
        purpose: purpose.to_owned(),
        text: Kept::text("text"),
        is_fixed: false,
        buttons: if bound.is_some() { vec![button("yes"), button("no")] } else { Vec::new() },
        bound,
        reply_to: None,
        for_event: None,
    }
    .into()
}

fn asked() -> Event {
    let bound = Bound { turn: TURN, digest: "d".to_owned(), approver: "owner".to_owned(), until: 100 };
    queued("consent", Some(bound))
}

#[test]
fn a_number_is_taken_once_until_a_week_of_silence_gives_it_back() {
    let mut given = Given::default();
    given.at(0, "channel/telegram", update(5)).at(0, "channel/telegram", update(3));
    let telegram = given.telegram();
    assert!(!telegram.is_silent("99", Micros(DAY)) && !telegram.is_silent("99", Micros(-DAY)));
    assert!(!telegram.is_new("99", 5, false) && !telegram.is_new("99", 3, false));
    assert!(telegram.is_new("99", 4, false) && telegram.is_new("98", 5, false));
    assert_eq!(telegram.next_update("99", false), Some(6));
    assert!(telegram.is_silent("99", Micros(8 * DAY)) && telegram.is_silent("98", Micros(0)));
    assert!(telegram.is_new("99", 5, true));
    assert_eq!(telegram.next_update("99", true), None);
    // The new series is smaller, and it is the one that counts.
    given.at(8 * DAY, "channel/telegram", update(2));
    assert_eq!(given.telegram().next_update("99", false), Some(3));
    assert!(given.telegram().is_new("99", 5, false), "the number of before is free");
}

/// A clock that was set back a year made the newest update look like the oldest: it was forgotten, came again, and was
/// answered without end.
#[test]
fn the_oldest_update_is_the_first_one_whatever_the_clock_says() {
    let mut given = Given::default();
    let kept = i64::try_from(UPDATES_KEPT).unwrap();
    for number in 0..kept + 3 {
        given.at(400 * DAY, "channel/telegram", update(number));
    }
    given.at(35 * DAY, "channel/telegram", update(kept + 3));
    let telegram = given.telegram();
    assert_eq!(telegram.updates["99"].numbers.len(), UPDATES_KEPT);
    assert!(!telegram.is_new("99", kept + 3, false) && !telegram.is_silent("99", Micros(35 * DAY)));
    assert_eq!(telegram.next_update("99", false), Some(kept + 4));
    assert!(telegram.is_new("99", 3, false) && !telegram.is_new("99", 4, false), "the first ones are forgotten");
}

#[test]
fn an_update_waits_until_it_is_settled_and_knows_its_turn() {
    let mut given = Given::default();
    given.then(update(5));
    let closed = TurnClosed {
        final_kind: "answer".to_owned(),
        class: None,
        message: Kept::text("a"),
        counts: BTreeMap::default(),
    };
    given.at(0, "turn/x", closed.into());
    assert_eq!(given.telegram().pending.values().next().and_then(|pending| pending.turn), Some(TURN));
    given.then(UpdateSettled { update: id(1), outcome: "turn".to_owned() });
    assert!(given.telegram().pending.is_empty());
}

#[test]
fn a_message_is_on_its_way_until_its_last_piece_has_a_receipt() {
    let mut given = Given::default();
    given.then(queued("answer", None));
    let message = id(1);
    let outgoing = |given: &Given| {
        given.telegram().outbox.values().map(|out| (out.piece, out.is_started, out.repeats)).collect::<Vec<_>>()
    };
    given.then(DeliveryStarted { message, piece: 0 });
    assert_eq!(outgoing(&given), [(0, true, 0)]);
    given.then(MessageMaybeSent { message, piece: 0, why: "restart".to_owned() });
    assert_eq!(outgoing(&given), [(0, false, 1)]);
    given.then(DeliveryStarted { message, piece: 0 });
    given.then(MessageSent { message, piece: 0, pieces: 2, receipt: 11 });
    assert_eq!(outgoing(&given), [(1, false, 0)]);
    given.then(MessageSent { message, piece: 1, pieces: 2, receipt: 12 });
    assert_eq!(outgoing(&given), []);
    given.then(queued("answer", None));
    let failed = DeliveryFailed { message: id(given.seq), class: "blocked".to_owned(), reason: Kept::text("no") };
    given.then(failed);
    assert_eq!((outgoing(&given), given.telegram().failed.as_deref()), (Vec::new(), Some("blocked")));
}

#[test]
fn a_button_counts_once_for_its_approver_in_time() {
    let mut given = Given::default();
    given.then(asked());
    let message = Some(id(1));
    let press = |given: &Given, message, presser, now| given.telegram().press(message, presser, Micros(now));
    assert_eq!(press(&given, message, Some("owner"), 99), Press::Accepted);
    assert_eq!(press(&given, message, Some("owner"), 100), Press::Expired);
    assert_eq!(press(&given, message, Some("guest_1"), 99), Press::Foreign);
    assert_eq!(press(&given, message, None, 99), Press::Foreign);
    assert_eq!(press(&given, None, Some("owner"), 99), Press::Forged);
    assert_eq!(press(&given, Some(id(9)), Some("owner"), 99), Press::Forged);
    // A press that did not count changes nothing.
    let pressed = |outcome: Press| {
        let (outcome, button) = (outcome.name().to_owned(), Some("yes".to_owned()));
        ButtonPressed { update: id(8), outcome, message, button }
    };
    given.then(pressed(Press::Foreign));
    assert_eq!(press(&given, message, Some("owner"), 99), Press::Accepted);
    given.then(pressed(Press::Accepted));
    assert_eq!(press(&given, message, Some("owner"), 99), Press::Used);
    assert_eq!(press(&given, message, Some("guest_1"), 99), Press::Foreign);
}

#[test]
fn a_question_that_its_turn_let_go_of_takes_no_answer() {
    let mut given = Given::default();
    given.then(asked());
    let expired = |digest: &str| ConsentExpired { step: 1, digest: digest.to_owned(), why: "time".to_owned() };
    given.at(0, "turn/x", expired("other").into());
    assert_eq!(given.telegram().press(Some(id(1)), Some("owner"), Micros(1)), Press::Accepted);
    given.at(0, "turn/x", expired("d").into());
    assert_eq!(given.telegram().press(Some(id(1)), Some("owner"), Micros(1)), Press::Expired);
}

#[test]
fn what_shows_progress_is_known_until_it_is_gone() {
    let mut given = Given::default();
    let shown = |receipt| ProgressShown { address: "7".to_owned(), receipt, turn: TURN };
    given.then(shown(1)).then(shown(2)).then(ProgressRemoved { address: "7".to_owned(), receipt: 1 });
    let left: Vec<i64> = given.telegram().shown.values().map(|shown| shown.receipt).collect();
    assert_eq!(left, [2]);
    given.then(ProgressRemoved { address: "8".to_owned(), receipt: 2 });
    assert_eq!(given.telegram().shown.len(), 1, "it is of another chat");
}

#[test]
fn a_chat_that_moves_takes_with_it_what_is_not_sent_yet() {
    let moved = |from: &str, to: &str| AddressMoved {
        channel: "telegram".to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let mut given = Given::default();
    given.then(queued("answer", None)).then(asked()).then(moved("7", "-1007"));
    let telegram = given.telegram();
    assert!(telegram.outbox.values().all(|message| message.address == "-1007"));
    assert!(telegram.consents.values().all(|consent| consent.address == "-1007"));
    assert_eq!((telegram.now_at("7"), telegram.now_at("8")), ("-1007", "8"));
    given.then(moved("-1007", "-1008"));
    assert_eq!(given.telegram().now_at("7"), "-1008");
    // What is queued for where it was goes where it is.
    given.then(queued("answer", None));
    assert!(given.telegram().outbox.values().all(|message| message.address == "-1008"));
    given.then(moved("-1008", "7"));
    assert_eq!(given.telegram().now_at("7"), "7");
}

#[test]
fn a_question_that_is_put_again_is_answered_once() {
    let mut given = Given::default();
    given.then(asked()).then(asked());
    let telegram = given.telegram();
    let waiting: Vec<EventId> = telegram.waiting_for("owner", Micros(99)).iter().map(|consent| consent.id).collect();
    assert_eq!(waiting, [id(1)]);
    assert!(telegram.waiting_for("guest_1", Micros(99)).is_empty());
    assert!(telegram.waiting_for("owner", Micros(100)).is_empty());
    let pressed = ButtonPressed {
        update: id(9),
        outcome: "accepted".to_owned(),
        message: Some(id(2)),
        button: Some("yes".to_owned()),
    };
    given.then(pressed);
    let telegram = given.telegram();
    assert_eq!(telegram.press(Some(id(1)), Some("owner"), Micros(99)), Press::Used);
    assert_eq!(telegram.answer(&telegram.consent(id(1)).unwrap().bound), Some("yes"));
    assert!(telegram.waiting_for("owner", Micros(99)).is_empty());
}

#[test]
fn nothing_is_said_at_an_address_that_is_nobodys_any_more() {
    let (actor, channel, address) = ("guest_1".to_owned(), "telegram".to_owned(), "7".to_owned());
    let revoked = AddressRevoked { actor: actor.clone(), channel: channel.clone(), address: address.clone() };
    let mut given = Given::default();
    given.then(queued("answer", None)).then(asked());
    given.at(0, "actor/guest_1", revoked.into());
    let telegram = given.telegram();
    assert!(telegram.outbox.is_empty() && telegram.is_revoked("7") && !telegram.is_revoked("8"));
    assert_eq!(telegram.press(Some(id(2)), Some("owner"), Micros(1)), Press::Expired);
    // What comes to its end only now is not said either, nor asked; a stranger is told that they are one.
    given.then(queued("answer", None)).then(asked());
    let telegram = given.telegram();
    assert!(telegram.outbox.is_empty() && telegram.waiting_for("owner", Micros(1)).is_empty());
    given.then(queued("stranger", None));
    assert_eq!(given.telegram().outbox.len(), 1);
    given.at(0, "actor/guest_1", AddressBound { actor, channel, address, pairing: None }.into());
    given.then(queued("answer", None));
    assert_eq!(given.telegram().outbox.len(), 2, "it is somebody's again");
}

fn asked_of(approver: &str, digest: &str) -> Event {
    let (digest, approver) = (digest.to_owned(), approver.to_owned());
    queued("consent", Some(Bound { turn: TURN, digest, approver, until: 100 }))
}

/// A guest who asked for their question hundreds of times made the host's open question unknown.
#[test]
fn an_open_question_is_never_forgotten_for_other_ones() {
    let mut given = Given::default();
    given.then(asked());
    for _ in 0..300 {
        given.then(asked_of("guest_1", "g"));
    }
    let telegram = given.telegram();
    assert_eq!(telegram.press(Some(id(1)), Some("owner"), Micros(99)), Press::Accepted);
    assert_eq!(telegram.consents.len(), 1 + REPEATS_KEPT);
    // Of a question that was put often, the first message and the newest ones are known.
    for (message, press) in [(2, Press::Accepted), (3, Press::Forged), (294, Press::Forged), (301, Press::Accepted)] {
        assert_eq!(telegram.press(Some(id(message)), Some("guest_1"), Micros(99)), press, "{message}");
    }
    let bound = telegram.consent(id(2)).unwrap().bound.clone();
    assert_eq!(telegram.replaced(&bound).map(|consent| consent.id), Some(id(295)));
    assert_eq!(telegram.put_again_at(&bound), Some(0));
    let bound = telegram.consent(id(1)).unwrap().bound.clone();
    assert_eq!((telegram.replaced(&bound), telegram.put_again_at(&bound)), (None, None));
    // Those that are over go first, of each person on their own.
    for number in 0..200 {
        let digest = format!("h{number}");
        given.then(asked_of("guest_1", &digest));
        given.at(0, "turn/x", ConsentExpired { step: 1, digest, why: "time".to_owned() }.into());
    }
    let telegram = given.telegram();
    let over = telegram.consents.values().filter(|consent| consent.is_over).count();
    assert!((OVER_KEPT..=OVER_KEPT + 1).contains(&over), "{over}");
    assert_eq!(telegram.press(Some(id(1)), Some("owner"), Micros(99)), Press::Accepted);
    assert_eq!(telegram.press(Some(id(2)), Some("guest_1"), Micros(99)), Press::Accepted);
    // One that is put when it is over already is over.
    given.then(asked_of("guest_1", "h199"));
    assert_eq!(given.telegram().press(Some(id(given.seq)), Some("guest_1"), Micros(99)), Press::Expired);
}

#[test]
fn a_question_that_could_be_put_nowhere_waits_for_nobody() {
    let mut given = Given::default();
    given.then(asked()).then(asked());
    let failed = |number| DeliveryFailed { message: id(number), class: "refused".to_owned(), reason: Kept::text("no") };
    let is_unasked = |given: &Given| given.telegram().is_unasked(&given.telegram().consent(id(1)).unwrap().bound);
    given.then(failed(1));
    assert!(!is_unasked(&given) && given.telegram().waiting_for("owner", Micros(1)).len() == 1);
    given.then(failed(2));
    assert!(is_unasked(&given) && given.telegram().waiting_for("owner", Micros(1)).is_empty());
}

#[test]
fn many_messages_on_their_way_to_one_address_are_no_crowd_for_others() {
    let mut given = Given::default();
    for _ in 1..CROWD {
        given.then(queued("answer", None));
    }
    assert!(!given.telegram().is_crowded("7"));
    given.then(queued("answer", None));
    assert!(given.telegram().is_crowded("7") && !given.telegram().is_crowded("8"));
}

#[test]
fn a_stranger_is_told_a_little_and_then_nothing_for_an_hour() {
    const HOUR: i64 = DAY / 24;
    let mut given = Given::default();
    let may = |given: &Given, now| given.telegram().may_tell_stranger("7", Micros(now));
    assert!(may(&given, 0));
    for line in 0..3 {
        assert!(may(&given, line));
        given.at(line, "channel/telegram", queued("stranger", None));
    }
    assert!(!may(&given, 3) && !may(&given, HOUR - 1) && given.telegram().may_tell_stranger("8", Micros(3)));
    assert!(may(&given, HOUR));
    // A clock that was set back does not silence for as long, nor open the gates.
    for line in 0..3 {
        assert!(may(&given, line - 300 * DAY));
        given.at(line - 300 * DAY, "channel/telegram", queued("stranger", None));
    }
    assert!(!may(&given, 3 - 300 * DAY));
    let (actor, channel, address) = ("guest_1".to_owned(), "telegram".to_owned(), "7".to_owned());
    given.at(0, "actor/guest_1", AddressBound { actor, channel, address, pairing: None }.into());
    assert!(given.telegram().strangers.is_empty(), "they are no stranger");
}
