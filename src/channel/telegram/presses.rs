//! Pressed buttons: what each means is decided and on record before anything follows from it.

use metnos_log::event::channel::ButtonPressed;
use metnos_log::{Event, EventId, TurnId};
use metnos_projections::machines::channels::Press;
use serde_json::json;

use super::{Bot, CHANNEL, keys, wire};
use crate::channel::outbox;
use crate::instance::{InstanceError, now};

impl Bot {
    /// Decides what a press means, answers it, and takes the buttons away where they are of no use any more.
    pub(super) fn pressed(&self, update: EventId, press: &wire::Press) -> Result<(), InstanceError> {
        let who = press.from.as_ref().and_then(|from| self.actor(from.id));
        let id = outbox::derived(update.0, &[b"pressed"]);
        let pressed = match self.press_on_record(id)? {
            Some(pressed) => pressed,
            None => self.decided(id, update, press, who.as_deref())?,
        };
        let actor = who.as_deref().unwrap_or(&self.instance.actor);
        let instance = self.of(actor, press.from.as_ref());
        let values = json!({ "button": pressed.button });
        let text = self.told(&instance, &format!("telegram.press_{}", pressed.outcome), &values);
        if let Some(Err(error)) = self.until_leaving(self.client.answer_press(&press.id, &text)) {
            tracing::debug!(%error, "a press is not answered");
        }
        // Only of a message that is ours, and not by a stranger's hand.
        if let Some(message) = pressed.message.filter(|_| pressed.outcome != Press::Foreign.name()) {
            let mut places = self.places(message);
            // The receipt may still be on its way.
            places.extend(press.message.as_ref().map(|shown| (shown.chat.id.to_string(), shown.message_id)));
            places.sort();
            places.dedup();
            self.remove_keys(&places);
        }
        self.settle(update, "pressed")
    }

    fn press_on_record(&self, id: EventId) -> Result<Option<ButtonPressed>, InstanceError> {
        let reader = self.instance.log.reader();
        let Some(seq) = reader.seq_of(id)? else { return Ok(None) };
        let recorded = reader.event(seq)?;
        Ok(match recorded.as_ref().and_then(metnos_log::Recorded::event) {
            Some(Event::ButtonPressed(pressed)) => Some(pressed.clone()),
            _ => None,
        })
    }

    fn decided(
        &self,
        id: EventId,
        update: EventId,
        press: &wire::Press,
        who: Option<&str>,
    ) -> Result<ButtonPressed, InstanceError> {
        let mut pressed = None;
        let actor = who.unwrap_or(&self.instance.actor);
        let instance = self.instance.as_actor(actor);
        let appended = instance.append_decided(|projected| {
            let channel = projected.channels.get(CHANNEL);
            let found = press.data.as_deref().and_then(|data| keys::find(&self.button_key, channel, data));
            // A button of another chat was never given to this one.
            let chat = press.message.as_ref().map(|message| message.chat.id.to_string());
            let found = found.filter(|(message, _)| {
                chat.is_none() || channel.consent(*message).map(|consent| &consent.address) == chat.as_ref()
            });
            let (message, button) = found.map_or((None, None), |(message, button)| (Some(message), Some(button)));
            let outcome = channel.press(message, who, now()).name().to_owned();
            let decided = ButtonPressed { update, outcome, message, button };
            pressed = Some(decided.clone());
            Ok::<_, std::convert::Infallible>(vec![outbox::draft(&instance, CHANNEL, id, decided)])
        })?;
        match appended {
            Ok(()) => crate::faults::reach("press_to_turn"),
            Err(never) => match never {},
        }
        Ok(pressed.unwrap_or(ButtonPressed {
            update,
            outcome: Press::Forged.name().to_owned(),
            message: None,
            button: None,
        }))
    }

    /// Where a question is, however often it was put.
    pub(super) fn places(&self, message: EventId) -> Vec<(String, i64)> {
        let projected = self.instance.projected();
        let channel = projected.channels.get(CHANNEL);
        let Some(consent) = channel.consent(message) else { return Vec::new() };
        let places = channel
            .put(&consent.bound)
            .into_iter()
            .flat_map(|consent| consent.receipts.iter().map(|receipt| (consent.address.clone(), *receipt)));
        places.collect()
    }

    /// Where the questions of a turn are that are over.
    pub(super) fn places_of(&self, turn: TurnId) -> Vec<(String, i64)> {
        let projected = self.instance.projected();
        let over = projected.channels.get(CHANNEL).consents.values();
        let over = over.filter(|consent| consent.bound.turn == turn && consent.is_over);
        over.flat_map(|consent| consent.receipts.iter().map(|receipt| (consent.address.clone(), *receipt))).collect()
    }

    pub(super) fn remove_keys(&self, places: &[(String, i64)]) {
        for (chat, message) in places {
            if let Some(Err(error)) = self.until_leaving(self.client.remove_keys(chat, *message)) {
                tracing::debug!(%error, "buttons stay");
            }
        }
    }
}
