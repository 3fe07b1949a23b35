//! `metnos status`: how the instance is, in a few lines.

use std::path::PathBuf;

use metnos_log::event::executor::LifeCycle;
use serde_json::{Value, json};

use super::executor::life::proposal;
use super::{Context, Failure, inbox, output, serve};
use crate::ageing;
use crate::channel::telegram::{CHANNEL, link};
use crate::instance::{Instance, now};
use crate::loader::check;

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let head = instance.log.head();
    let active = instance.catalog().executors.values().filter(|entry| entry.life == LifeCycle::Active).count();
    let quarantined = check::quarantined(&instance);
    // Of how it stood, nothing is proposed now.
    let looks_back = context.global.at.is_some();
    let proposed = if looks_back { Vec::new() } else { ageing::proposed(&instance, now())? };
    let turns = instance.turns();
    let open = turns.open().count();
    let schedules = instance.schedules();
    let size = std::fs::metadata(instance.dirs.log()).map_or(0, |metadata| metadata.len());
    let about = context.served.as_ref().map(|served| &served.about);
    let missing = instance.log.reader().missing_archives()?;
    let status = json!({
        "log": { "id": instance.log.id(), "events": head.size, "head": crate::signing::hex(&head.head), "file_bytes": size },
        "executors": { "active": active, "quarantined": quarantined.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect::<Vec<_>>(), "archival_proposed": proposed.iter().map(|idle| &idle.name).collect::<Vec<_>>() },
        "turns": { "all": turns.len(), "open": open },
        "schedules": {
            "active": schedules.due.len(),
            "running": schedules.running.len(),
            "next_fire": schedules.due.first().map(|(slot, _)| output::moment(*slot, &instance.settings.zone)),
            "untold": schedules.untold.values().map(Vec::len).sum::<usize>(),
        },
        "folders": { "config": instance.dirs.config, "data": instance.dirs.data, "workspace": instance.dirs.workspace },
        "autonomy": instance.settings.autonomy,
        "archives_missing": missing,
        "erasure_pending": crate::erasure::is_pending(&instance),
        "telegram": telegram(&instance),
        "daemon": about.map(|about| json!({ "pid": about.pid, "since": about.since, "socket": about.socket, "http": about.http })),
    });
    if context.global.json {
        output::result_json(&status);
        return Ok(0);
    }
    let autonomy = context.text(&instance, &format!("autonomy.{}", instance.settings.autonomy), &json!({}));
    let values = json!({
        "events": head.size, "kib": size.div_ceil(1024), "active": active, "turns": turns.len(), "open": open,
        "data": instance.dirs.data, "workspace": instance.dirs.workspace, "autonomy": autonomy,
    });
    output::result(&context.text(&instance, "status.body", &values));
    let daemon = match about {
        Some(about) => context.text(&instance, "status.daemon", &serve::told(about, &instance.settings.zone)),
        None => context.text(&instance, "status.no_daemon", &json!({})),
    };
    output::result(&daemon);
    let telegram = telegram(&instance);
    let key = if telegram.is_null() { "telegram.no_token" } else { "telegram.state" };
    output::result(&context.text(&instance, key, &telegram));
    for (name, reason) in quarantined {
        output::result(&context.text(&instance, "notice.quarantined", &json!({ "name": name, "reason": reason })));
    }
    for idle in &proposed {
        output::result(&proposal(context, &instance, idle));
    }
    tell_missing_archives(context, &instance, &missing);
    if crate::erasure::is_pending(&instance) {
        output::result(&context.text(&instance, "notice.erasure_pending", &json!({})));
    }
    inbox::show(context, &instance)?;
    Ok(0)
}

/// Says which archive files of the log are not there: nothing else reads them until somebody asks for what they hold.
pub(super) fn tell_missing_archives(context: &Context, instance: &Instance, missing: &[PathBuf]) {
    for file in missing {
        output::result(&context.text(instance, "notice.archive_missing", &json!({ "file": file.to_string_lossy() })));
    }
}

/// How the channel is; nothing where it has no token.
fn telegram(instance: &Instance) -> Value {
    if instance.credential(CHANNEL).is_none() {
        return Value::Null;
    }
    let projected = instance.projected();
    let channel = projected.channels.get(CHANNEL);
    json!({
        "link": link().name(), "is_paired": instance.actors().is_connected(CHANNEL), "waiting": channel.outbox.len(),
        "failed": channel.failed,
    })
}
