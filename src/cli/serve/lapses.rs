//! Closes questions that nobody answered in time, while nobody asks for anything. Those of a channel are its own business.

use std::time::Duration;

use crate::cli::ask::CONSOLE;
use crate::engine::{self, Absent, EngineError, Reply};
use crate::instance::{Instance, now};
use crate::sandbox::CancelFlag;
use crate::service::{Around, Service};
use metnos_projections::machines::turn::Phase;

/// How often it looks: a question waits for minutes.
const EVERY: Duration = Duration::from_secs(10);

/// The service.
pub(super) struct Lapses;

impl Service for Lapses {
    fn name(&self) -> &'static str {
        "lapses"
    }

    fn run(&self, around: &Around) {
        while !around.wait(EVERY) {
            if let Err(error) = settle(&around.instance) {
                tracing::warn!(%error, "a question that lapsed cannot be closed");
            }
        }
    }
}

fn settle(instance: &Instance) -> Result<(), EngineError> {
    let turns = instance.turns();
    let lapsed = turns
        .open()
        .filter(|(_, turn)| turn.waits.is_some_and(|waits| waits.channel == CONSOLE && waits.until <= now().0));
    for (id, _) in lapsed {
        let turn = engine::folded(instance, id)?;
        // A command may have answered it just now; what is decided then is refused by the log.
        if turn.phase != Phase::Waiting {
            continue;
        }
        let Ok(cancel) = CancelFlag::new() else { return Ok(()) };
        let instance = instance.as_actor(&instance.actor_of(id));
        engine::reply(&instance, &Absent, cancel, (id, turn), (&Reply::Lapsed, None))?;
        instance.catch_up()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use metnos_log::{Micros, TurnId};
    use metnos_projections::machines::turn::command::Command;
    use metnos_projections::machines::turn::{Context, Turn, decide};

    use super::*;
    use crate::config::{Flags, Variables};
    use crate::engine::Request;
    use crate::instance::random;

    /// A turn of a channel that put a question so many seconds ago.
    fn asked(instance: &Instance, channel: &str, seconds: i64) -> TurnId {
        let request = Request {
            text: "remind me every monday".to_owned(),
            approve: "none".to_owned(),
            folder: instance.dirs.user_home.clone(),
            channel: channel.to_owned(),
            dialogs: true,
            ..Request::default()
        };
        let time = Micros(now().0 - seconds * 1_000_000);
        let id = TurnId::new(time, random());
        let opened = Command::Open(Box::new(engine::opened(instance, &request)));
        let events = instance.while_it_stands(|catalog, tools| {
            decide(&Turn::default(), id, Context { rules: &instance.rules, catalog, tools, time }, opened).unwrap()
        });
        instance.submit_turn(id, None, (0, time), events, Vec::new()).wait().unwrap();
        instance.catch_up().unwrap();
        assert!(instance.turns().get(id).unwrap().waits.is_some());
        id
    }

    #[test]
    fn a_question_ends_once_however_many_would_end_it() {
        let folder = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(folder.path().to_owned()), ..Variables::default() };
        let home = folder.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        crate::builtins::install_missing(&instance).unwrap();
        let id = asked(&instance, CONSOLE, 601);
        let turn = engine::folded(&instance, id).unwrap();
        let lapse =
            |turn| engine::reply(&instance, &Absent, CancelFlag::new().unwrap(), (id, turn), (&Reply::Lapsed, None));
        lapse(turn.clone()).unwrap();
        let events = instance.log.head().size;
        assert!(matches!(lapse(turn), Err(EngineError::Append(_))));
        assert_eq!(instance.log.head().size, events);
    }

    #[test]
    fn what_nobody_answered_is_closed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(folder.path().to_owned()), ..Variables::default() };
        let home = folder.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        crate::builtins::install_missing(&instance).unwrap();
        let (late, fresh) = (asked(&instance, CONSOLE, 601), asked(&instance, CONSOLE, 10));
        let elsewhere = asked(&instance, "telegram", 601);
        settle(&instance).unwrap();
        let turns = instance.turns();
        let ended = |id| turns.get(id).unwrap().final_kind;
        assert_eq!((ended(late), ended(fresh), ended(elsewhere)), (Some("ask"), None, None));
    }
}
