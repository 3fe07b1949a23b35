//! Other people, and what comes over their channels.

use metnos_log::event::channel::{
    DeliveryStarted, MessageMaybeSent, MessageQueued, MessageSent, UpdateReceived, UpdateSettled,
};
use metnos_log::event::turn::TurnOpened;
use metnos_log::{EventId, Kept, Micros};
use metnos_projections::machines::actors::Command;

use crate::builder::History;

type Scenario = (&'static str, &'static str, fn() -> History);

pub(super) const ALL: &[Scenario] = &[
    (
        "guest-refused",
        "A guest asks for a file of the house, by its path and by a link; refused before anything about it is said.",
        guest_refused,
    ),
    (
        "people-come-and-go",
        "A code is made and used, another withdrawn; a guest gets a language, an autonomy and a folder, and loses their address.",
        people,
    ),
    (
        "chat-update-twice",
        "An update comes twice: its turn is begun once. The answer's sending was cut off, so it is sent again and says so.",
        update_twice,
    ),
];

const GUEST: &str = "guest_1";

fn guest_refused() -> History {
    let of_guest = |opened: &mut TurnOpened| {
        let own = format!("/m/workspace/guests/{GUEST}");
        opened.within = Some(vec![own.clone()]);
        (opened.home, opened.folder) = (own.clone(), own);
        "full".clone_into(&mut opened.autonomy);
    };
    History::begin()
        .executor("read_files")
        .guest(GUEST)
        .by(GUEST)
        .turn_as("read the file /home/owner/a.txt", of_guest, |turn| {
            turn.finds("file").ends("error", "policy_violation")
        })
        .turn_as("read the file /home/owner/a.txt", of_guest, |turn| {
            turn.finds_nothing().ends("error", "policy_violation")
        })
        .turn_as("read the file link.txt", of_guest, |turn| {
            let leads_out = |_, target: &mut metnos_log::event::turn::Target| {
                "/home/owner/a.txt".clone_into(&mut target.canonical);
            };
            turn.finds_at(leads_out).ends("error", "policy_violation")
        })
}

fn people() -> History {
    let (actor, channel, address) = (|| GUEST.to_owned(), || "telegram".to_owned(), || "77".to_owned());
    let until = Micros(1_772_500_000_000_000);
    let issue = |pairing: &str| Command::Issue { pairing: pairing.to_owned(), actor: GUEST.to_owned(), until };
    History::begin()
        .guest(GUEST)
        .people(issue("p1"))
        .people(issue("p2"))
        .people(Command::Withdraw { pairing: "p2".to_owned() })
        .later(60)
        .people(Command::Bind { pairing: "p1".to_owned(), channel: channel(), address: address() })
        .people(Command::SetAutonomy { actor: actor(), autonomy: "read_only".to_owned() })
        .people(Command::SetLanguage { actor: actor(), language: "it".to_owned() })
        .people(Command::OpenFolder { actor: actor(), folder: "/home/owner/photos".to_owned() })
        .later(60)
        .people(Command::CloseFolder { actor: actor(), folder: "/home/owner/photos".to_owned() })
        .people(Command::Unbind { channel: channel(), address: address() })
}

fn update_twice() -> History {
    let stream = "channel/telegram";
    let update = || UpdateReceived {
        channel: "telegram".to_owned(),
        account: "bot".to_owned(),
        update: 41,
        kind: "message".to_owned(),
        address: Some("7".to_owned()),
        raw: Kept::text("{\"message\":{\"chat\":{\"id\":7},\"text\":\"read the file a.txt\"},\"update_id\":41}"),
    };
    let known = |opened: &mut TurnOpened| {
        "telegram".clone_into(&mut opened.channel);
        opened.address = Some("7".to_owned());
    };
    let history = History::begin().executor("read_files").fact(stream, update()).because();
    let received: EventId = history.newest();
    let history =
        history.turn_as("read the file a.txt", known, |turn| turn.finds("file").reads("one\n").ends("answer", ""));
    let channel = history.channel("telegram");
    assert!(!channel.is_new("bot", 41, channel.is_silent("bot", Micros(history.time()))), "it came already");
    let answer = MessageQueued {
        channel: "telegram".to_owned(),
        address: "7".to_owned(),
        purpose: "answer".to_owned(),
        text: Kept::text("one"),
        is_fixed: false,
        buttons: Vec::new(),
        bound: None,
        reply_to: Some(12),
        for_event: Some(received),
    };
    let history = history.fact(stream, answer);
    let message = history.newest();
    history
        .fact(stream, UpdateSettled { update: received, outcome: "turn".to_owned() })
        .fact(stream, DeliveryStarted { message, piece: 0 })
        .later(30)
        .fact(stream, MessageMaybeSent { message, piece: 0, why: "restart".to_owned() })
        .fact(stream, DeliveryStarted { message, piece: 0 })
        .fact(stream, MessageSent { message, piece: 0, pieces: 1, receipt: 13 })
}
