//! Payloads of channels: what came over them and what is to go.

use super::super::Event;
use super::super::channel::{
    AddressMoved, Bound, Button, ButtonPressed, DeliveryFailed, DeliveryStarted, DocumentReceived, MessageMaybeSent,
    MessageQueued, MessageSent, ProgressRemoved, ProgressShown, UpdateReceived, UpdateSettled,
};
use super::{hash, text};
use crate::id::{EventId, TurnId};
use crate::kept::Kept;

pub(super) fn examples() -> Vec<Event> {
    let (channel, address) = (text("telegram"), text("42"));
    let (update, message) = (EventId([5; 16]), EventId([6; 16]));
    vec![
        UpdateReceived {
            channel: channel.clone(),
            account: text("1234567"),
            update: 700_000_001,
            kind: text("message"),
            address: Some(address.clone()),
            raw: Kept::text("{\"update_id\":700000001}"),
        }
        .into(),
        UpdateSettled { update, outcome: text("turn") }.into(),
        ButtonPressed { update, outcome: text("accepted"), message: Some(message), button: Some(text("yes")) }.into(),
        DocumentReceived { update, path: Kept::text("/home/owner/metnos/inbox/a.csv"), bytes: 12, content: hash(9) }
            .into(),
        MessageQueued {
            channel,
            address,
            purpose: text("consent"),
            text: Kept::text("May it?"),
            is_fixed: true,
            buttons: vec![Button { id: text("yes"), label: text("Yes") }],
            bound: Some(Bound {
                turn: TurnId([7; 16]),
                digest: "cd".repeat(32),
                approver: text("owner"),
                until: 1_700_000_600_000_000,
            }),
            reply_to: Some(11),
            for_event: Some(update),
        }
        .into(),
        DeliveryStarted { message, piece: 0 }.into(),
        MessageSent { message, piece: 0, pieces: 2, receipt: 12 }.into(),
        MessageMaybeSent { message, piece: 1, why: text("restart") }.into(),
        DeliveryFailed { message, class: text("blocked"), reason: Kept::text("the bot was blocked by the user") }
            .into(),
        ProgressShown { address: text("42"), receipt: 7, turn: TurnId([3; 16]) }.into(),
        ProgressRemoved { address: text("42"), receipt: 7 }.into(),
        AddressMoved { channel: text("telegram"), from: text("-42"), to: text("-100042") }.into(),
    ]
}
