//! `list_skills`: what Metnos can do, from the executors that are active. It names none that would do nothing.

use std::collections::BTreeSet;

use metnos_projections::machines::turn::forms;
use metnos_projections::rules::simple::Facts;
use metnos_projections::rules::simple::skills::{Skill, examples, skills};
use serde_json::{Value, json};

use super::{Answer, Call, send_messages};

pub(super) fn run(call: &Call<'_>) -> Answer {
    let instance = call.instance;
    let (rules, language) = (&instance.rules, call.language);
    let tools = &*instance.tools();
    let topic = call.args.get("topic").and_then(Value::as_str).map(str::trim).filter(|topic| !topic.is_empty());
    let speaking = skills(tools, language, topic);
    let known = !speaking.is_empty();
    let mut all = if known { speaking } else { skills(tools, language, None) };
    // What only asks back is nothing that a person asks for.
    all.retain(|skill| !forms::is_dialog(&skill.name));
    let is_mute = send_messages::reaches_nobody(&instance.actors());
    let is_later = |skill: &Skill| is_mute && skill.name == "send_messages";
    let (later, ready): (Vec<Skill>, Vec<Skill>) = all.into_iter().partition(is_later);
    // Where all that speaks of it would do nothing, the rest is what there is to ask about.
    let rest = if ready.is_empty() { skills(tools, language, None) } else { Vec::new() };
    let say = |key: &str| rules.messages.say(language, &format!("about.{key}"), json!({}));
    let names: BTreeSet<&str> = ready.iter().map(|skill| skill.name.as_str()).collect();
    let home = instance.dirs.user_home.to_string_lossy();
    let facts = Facts {
        now_us: 0,
        zone: &instance.settings.zone,
        home: &home,
        cwd: &home,
        language: Some(language),
        fallback: language,
        existing: &[],
    };
    let examples = examples(&rules.lexicons, tools, &rules.messages, &facts, &say("examples"), &names);
    let told = if ready.is_empty() { &rest } else { &ready };
    let mut groups: Vec<String> = told
        .iter()
        .filter(|skill| !forms::is_dialog(&skill.name) && !is_later(skill))
        .map(|skill| say(&format!("group_{}", skill.group)))
        .collect();
    groups.dedup();
    let line = |skill: &Skill| json!({ "name": skill.name, "group": say(&format!("group_{}", skill.group)), "said": skill.said });
    Answer::of(json!({
        "ok": true,
        "entries": ready.iter().filter(|_| known).map(line).collect::<Vec<_>>(),
        "metadata": {
            "count": ready.len(),
            "groups": groups,
            "topic": topic.unwrap_or_default(),
            "known": known,
            "later": later.iter().filter(|_| known).map(|skill| skill.name.as_str()).collect::<Vec<_>>(),
            "examples": examples,
        },
    }))
}
