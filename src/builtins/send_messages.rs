//! `send_messages`: plans a message to each person who is named. The turn that calls it asks, and gives them to the channel.

use metnos_projections::machines::actors::Actors;
use serde_json::{Value, json};

use super::{Answer, Call, planned_around};
use crate::effects::plan::{self, Around, Named};

/// Words by which whoever asks means themselves.
const MYSELF: [&str; 6] = ["me", "myself", "io", "me stesso", "me stessa", "mi"];

/// Whether nobody could be sent a message: then nobody is told that Metnos sends any.
pub(super) fn reaches_nobody(actors: &Actors) -> bool {
    actors.actors.values().all(|actor| actor.addresses.is_empty())
}

pub(super) fn run(call: &Call<'_>) -> Answer {
    let instance = call.instance;
    let wanted = |to: &str| {
        let to = if MYSELF.contains(&to.trim().to_lowercase().as_str()) { instance.actor.as_str() } else { to };
        json!({ "op": "send", "to": to, "body": call.args["body"], "via": call.args["via"] })
    };
    let people = call.args.get("to").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let effects: Vec<Value> = people.map(wanted).collect();
    let wanted = json!({ "effects": effects });
    let plan = |around: Around<'_>| plan::plan(&wanted, &Named::default(), around);
    let planned = planned_around(instance, Some(&instance.actors()), plan);
    // Whether a daemon carries them now, or once one runs.
    let result = json!({ "ok": true, "metadata": { "serves": instance.scheduler.serves() } });
    Answer { result, planned }
}
