//! `get_processes`: what runs on the host, from `/proc`. It ends nothing and reads no memory of others.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::{Answer, Call};

/// The kernel's clock ticks a second as it shows them in `/proc`: 100 on every Linux.
const TICKS: f64 = 100.0;
/// The longest command that is shown.
const COMMAND_MAX: usize = 300;

pub(super) fn run(call: &Call<'_>) -> Answer {
    let wanted = call.args.get("name").and_then(Value::as_str).map(str::to_lowercase);
    let (Some(uptime), Ok(folder)) = (uptime(), fs::read_dir("/proc")) else {
        let error = call.instance.rules.messages.say(
            call.language,
            "trouble.no_proc",
            json!({ "path": "/proc", "detail": "" }),
        );
        return Answer::failure("dependency_unavailable", &error);
    };
    let (users, booted) = (users(), booted());
    let (mut entries, mut unreadable) = (Vec::new(), 0_u64);
    let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    for pid in pids {
        match process(pid, uptime, booted, &users) {
            Some(entry) => entries.push(entry),
            // One that ended in between is no longer there to be counted.
            None if fs::metadata(format!("/proc/{pid}")).is_ok() => unreadable += 1,
            None => {}
        }
    }
    if let Some(wanted) = &wanted {
        let holds = |entry: &Value, key: &str| {
            entry.get(key).and_then(Value::as_str).is_some_and(|text| text.to_lowercase().contains(wanted.as_str()))
        };
        // The command line of this process holds the sentence that asks, and with it the name of any program.
        let own = u64::from(call.instance.asker);
        let asks = |entry: &Value| entry.get("pid").and_then(Value::as_u64) == Some(own);
        entries.retain(|entry| holds(entry, "name") || (holds(entry, "command") && !asks(entry)));
    }
    let memory = |entry: &Value| entry.get("memory").and_then(Value::as_u64).unwrap_or(0);
    let pid = |entry: &Value| entry.get("pid").and_then(Value::as_u64).unwrap_or(0);
    entries.sort_by_key(|entry| (std::cmp::Reverse(memory(entry)), pid(entry)));
    let total: u64 = entries.iter().map(memory).sum();
    let metadata =
        json!({ "count": entries.len(), "truncated": false, "unreadable": unreadable, "total_memory": total });
    Answer::of(json!({ "ok": true, "entries": entries, "metadata": metadata }))
}

/// Seconds since the machine started.
fn uptime() -> Option<f64> {
    fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()
}

/// When the machine started, in seconds since 1970.
fn booted() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Names of the accounts by number.
fn users() -> BTreeMap<String, String> {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = |line: &str| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        Some((number.to_owned(), name.to_owned()))
    };
    accounts.lines().filter_map(name).collect()
}

/// What `/proc/PID/stat` says behind the name, which may itself hold spaces and brackets.
struct Stat {
    name: String,
    ticks: f64,
    started: f64,
}

fn stat(text: &str) -> Option<Stat> {
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    // Behind the name, utime is the 12th field, stime the 13th, starttime the 20th (proc_pid_stat(5): 14, 15, 22).
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some(Stat { name, ticks: number(11)? + number(12)?, started: number(19)? / TICKS })
}

fn process(pid: u64, uptime: f64, booted: Option<f64>, users: &BTreeMap<String, String>) -> Option<Value> {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
    let text = |file: &str| read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let Stat { name, ticks, started } = stat(&text("stat")?)?;
    let status = text("status")?;
    let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    // A thread of the kernel has no memory of its own.
    let memory = field("VmRSS:").and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024;
    let number = field("Uid:").and_then(|rest| rest.split_ascii_whitespace().next()).unwrap_or_default();
    let user = users.get(number).cloned().unwrap_or_else(|| number.to_owned());
    let command = read("cmdline").unwrap_or_default();
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    let command = if command.is_empty() { format!("[{name}]") } else { command.chars().take(COMMAND_MAX).collect() };
    let age = (uptime - started).max(0.01);
    let cpu = (ticks / TICKS / age * 1000.0).round() / 10.0;
    Some(json!({
        "pid": pid, "name": name, "command": command, "user": user, "memory": memory, "cpu": cpu,
        "started": booted.and_then(|booted| moment(booted + started)),
    }))
}

#[expect(clippy::cast_possible_truncation, reason = "seconds since 1970 of a machine's start are far from the limit")]
fn moment(seconds: f64) -> Option<String> {
    jiff::Timestamp::from_second(seconds as i64).ok().map(|time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_read_whole() {
        let fields = "S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 12345 0 0";
        let read = stat(&format!("7 (a) (b c) {fields}")).unwrap();
        assert_eq!(read.name, "a) (b c");
        assert!((read.ticks - 200.0).abs() < 0.1 && (read.started - 123.45).abs() < 0.001);
        assert!(stat("nonsense").is_none());
    }

    #[test]
    fn this_process_is_there() {
        let own = process(u64::from(std::process::id()), uptime().unwrap(), booted(), &users()).unwrap();
        assert!(own["memory"].as_u64().unwrap() > 1_000_000, "{own}");
        assert!(own["started"].as_str().unwrap().ends_with('Z'), "{own}");
    }
}
