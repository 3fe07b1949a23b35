//! Metnos as its owner uses it: the real binary, real files, a real server on loopback, the real cage.
//!
//! The home of each test is a copy of one that went through a real first run, so that birth tests run once.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at the first surprise and says aloud what it skips"
)]

#[path = "household/about.rs"]
mod about;
#[path = "household/acts.rs"]
mod acts;
#[path = "household/ageing.rs"]
mod ageing;
#[path = "household/anchors.rs"]
mod anchors;
#[path = "household/append_kills.rs"]
mod append_kills;
#[path = "household/approvals.rs"]
mod approvals;
#[path = "household/audit.rs"]
mod audit;
#[path = "household/bad_input.rs"]
mod bad_input;
#[path = "household/bot_api.rs"]
mod bot_api;
#[path = "household/broken_off.rs"]
mod broken_off;
#[path = "household/chat.rs"]
mod chat;
#[path = "household/conversation.rs"]
mod conversation;
#[path = "household/conversation_kills.rs"]
mod conversation_kills;
#[path = "household/daemon.rs"]
mod daemon;
#[path = "household/damaged.rs"]
mod damaged;
#[path = "household/declared.rs"]
mod declared;
#[path = "household/dialogs.rs"]
mod dialogs;
#[path = "household/erasing.rs"]
mod erasing;
#[path = "household/erasing_forms.rs"]
mod erasing_forms;
#[path = "household/erasing_left.rs"]
mod erasing_left;
#[path = "household/formats.rs"]
mod formats;
#[path = "household/found.rs"]
mod found;
#[path = "household/grants.rs"]
mod grants;
#[path = "household/guests.rs"]
mod guests;
#[path = "household/home.rs"]
mod home;
#[path = "household/hosts.rs"]
mod hosts;
#[path = "household/keys.rs"]
mod keys;
#[path = "household/kills.rs"]
mod kills;
#[path = "household/lacking.rs"]
mod lacking;
#[path = "household/letters.rs"]
mod letters;
#[path = "household/life_cycle.rs"]
mod life_cycle;
#[path = "household/models.rs"]
mod models;
#[path = "household/moments.rs"]
mod moments;
#[path = "household/months.rs"]
mod months;
#[path = "household/odd_asks.rs"]
mod odd_asks;
#[path = "household/peers.rs"]
mod peers;
#[path = "household/people.rs"]
mod people;
#[path = "household/programs.rs"]
mod programs;
#[path = "household/pty.rs"]
mod pty;
#[path = "household/races.rs"]
mod races;
#[path = "household/readme.rs"]
mod readme;
#[path = "household/replayed.rs"]
mod replayed;
#[path = "household/requests.rs"]
mod requests;
#[path = "household/resolvers.rs"]
mod resolvers;
#[path = "household/salvaged.rs"]
mod salvaged;
#[path = "household/schedule_changes.rs"]
mod schedule_changes;
#[path = "household/schedules.rs"]
mod schedules;
#[path = "household/seeds.rs"]
mod seeds;
#[path = "household/sentences.rs"]
mod sentences;
#[path = "household/served.rs"]
mod served;
#[path = "household/server.rs"]
mod server;
#[path = "household/serving.rs"]
mod serving;
#[path = "household/stopped.rs"]
mod stopped;
#[path = "household/tampered.rs"]
mod tampered;
#[path = "household/tasks.rs"]
mod tasks;
#[path = "household/telegram.rs"]
mod telegram;
#[path = "household/telegram_commands.rs"]
mod telegram_commands;
#[path = "household/telegram_files.rs"]
mod telegram_files;
#[path = "household/telegram_floods.rs"]
mod telegram_floods;
#[path = "household/telegram_kills.rs"]
mod telegram_kills;
#[path = "household/telegram_peers.rs"]
mod telegram_peers;
#[path = "household/telegram_refused.rs"]
mod telegram_refused;
#[path = "household/telegram_waits.rs"]
mod telegram_waits;
#[path = "household/writers.rs"]
mod writers;
#[path = "household/writers_in_doubt.rs"]
mod writers_in_doubt;
