//! The way to the models: one request out, one answer back, with retries, a time limit, and a circuit that opens when a server
//! fails again and again (design 5-turn, «Models»).
//!
//! What is asked was decided before and is in the log; what comes back becomes a fact. A key is in no body, event or log line.

mod attempt;
mod circuit;
mod decode;
mod retry;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use metnos_log::redact::Secret;
use metnos_projections::rules::proposer::Answer;
use serde_json::Value;

use crate::config::llm::Binding;
use crate::sandbox::CancelFlag;
use attempt::Attempt;
use circuit::Circuit;

/// How often it is tried again.
const RETRIES: u32 = 2;
/// How long the server's own description may take.
const PROPS_PATIENCE: Duration = Duration::from_secs(2);
/// How often a waiting thread looks whether the turn is stopped.
const LOOK: Duration = Duration::from_millis(25);

/// What a model said, as it came and as it was read.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The bytes.
    pub raw: String,
    /// What was read in them.
    pub answer: Answer,
    /// Tokens, as the server counts them.
    pub usage: Value,
    /// Times, as the server measured them.
    pub timings: Value,
    /// Status and headers that are worth keeping.
    pub headers: Value,
}

/// Why there is no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The error class.
    pub class: String,
    /// The last status; 0 where none came.
    pub status: u16,
    /// What the server or the network said.
    pub reason: String,
    /// What came before it broke off.
    pub raw: String,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The answer, or why there is none; `None` where the turn was stopped meanwhile.
    pub outcome: Option<Result<Reply, Failure>>,
    /// The attempts that failed, each with status and class.
    pub failed: Vec<(u16, String)>,
    /// How long was waited between attempts.
    pub waited: Duration,
    /// How long it took in all.
    pub took: Duration,
}

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Props {
    /// How many tokens it can look at.
    pub context: u64,
}

/// The servers as this process knows them.
#[derive(Debug, Default)]
pub struct Models {
    circuits: Mutex<BTreeMap<String, Circuit>>,
    props: Mutex<BTreeMap<String, Option<Props>>>,
}

impl Models {
    /// Asks, and waits for the whole answer; `said` is told each piece of its words as it comes.
    pub fn ask(
        &self,
        binding: &Binding,
        key: Option<&Secret>,
        body: &str,
        cancel: &CancelFlag,
        said: &dyn Fn(&str),
    ) -> Asked {
        let begun = Instant::now();
        if let Some(left) = self.with_circuit(binding, |circuit| circuit.open_for(begun)) {
            let reason = format!("it failed again and again; it is tried again in {} s", left.as_secs() + 1);
            let failure = Failure { class: "resource_unavailable".to_owned(), reason, ..Failure::default() };
            return Asked {
                outcome: Some(Err(failure)),
                failed: Vec::new(),
                waited: Duration::ZERO,
                took: begun.elapsed(),
            };
        }
        let mut asked = match attempt::runtime() {
            Ok(runtime) => runtime.block_on(attempts(&Attempt { binding, key, body, said }, cancel)),
            Err(error) => {
                let failure =
                    Failure { class: "internal_error".to_owned(), reason: error.to_string(), ..Failure::default() };
                Asked { outcome: Some(Err(failure)), failed: Vec::new(), waited: Duration::ZERO, took: Duration::ZERO }
            }
        };
        asked.took = begun.elapsed();
        if let Some(outcome) = &asked.outcome {
            let is_away = outcome.as_ref().is_err_and(|failure| circuit::counts(&failure.class));
            self.with_circuit(binding, |circuit| circuit.note(is_away, Instant::now()));
        }
        asked
    }

    /// What the server says of itself, if it can; asked once in the life of the process.
    pub fn props(&self, binding: &Binding, key: Option<&Secret>) -> Option<Props> {
        if let Some(known) = self.known_props(binding) {
            return known;
        }
        let found = attempt::runtime().ok()?.block_on(async {
            tokio::time::timeout(PROPS_PATIENCE, attempt::props(binding, key)).await.ok().flatten()
        });
        let mut props = self.props.lock().unwrap_or_else(PoisonError::into_inner);
        props.insert(binding.base_url.clone(), found);
        found
    }

    /// The same where it was asked before.
    pub fn known_props(&self, binding: &Binding) -> Option<Option<Props>> {
        self.props.lock().unwrap_or_else(PoisonError::into_inner).get(&binding.base_url).copied()
    }

    fn with_circuit<T>(&self, binding: &Binding, with: impl FnOnce(&mut Circuit) -> T) -> T {
        let mut circuits = self.circuits.lock().unwrap_or_else(PoisonError::into_inner);
        with(circuits.entry(binding.base_url.clone()).or_default())
    }
}

/// One attempt after the other. A server that loads its model is waited for, which is no attempt.
async fn attempts(attempt: &Attempt<'_>, cancel: &CancelFlag) -> Asked {
    let begun = Instant::now();
    let patience = Duration::from_secs(u64::from(attempt.binding.timeout_s));
    let mut asked = Asked { outcome: None, failed: Vec::new(), waited: Duration::ZERO, took: Duration::ZERO };
    let (mut tries, mut loading) = (0, 0);
    loop {
        let outcome = tokio::select! {
            outcome = attempt.once(patience) => outcome,
            () = raised(cancel) => return asked,
        };
        let (failure, again) = match outcome {
            Ok(reply) => {
                asked.outcome = Some(Ok(reply));
                return asked;
            }
            Err(failed) => failed,
        };
        asked.failed.push((failure.status, failure.class.clone()));
        let wait = match again {
            retry::Again::Never => None,
            retry::Again::Loading => {
                asked.failed.pop();
                loading += 1;
                Some(retry::loading_wait(loading)).filter(|wait| begun.elapsed() + *wait < patience)
            }
            retry::Again::After(wait) => {
                tries += 1;
                let wait = wait.unwrap_or_else(|| retry::backoff(tries, crate::instance::random::<1>()[0]));
                Some(wait).filter(|wait| tries <= RETRIES && *wait <= retry::WAIT_MAX)
            }
        };
        let Some(wait) = wait else {
            asked.outcome = Some(Err(failure));
            return asked;
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = raised(cancel) => return asked,
        }
        asked.waited += wait;
    }
}

/// Returns when the turn is stopped.
async fn raised(cancel: &CancelFlag) {
    while !cancel.is_raised() {
        tokio::time::sleep(LOOK).await;
    }
}
