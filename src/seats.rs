//! Where questions are waited for within this process: an answer that is given elsewhere reaches whoever waits, and the turn
//! goes on there.
//!
//! A seat is taken for one question of one turn, so an answer to it is to nothing else. Whoever sits leaves once what was
//! answered stands in the log: of what nobody waits for here, the log alone knows.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metnos_log::TurnId;

use crate::sandbox::CancelFlag;

/// How long whoever answers waits until the answer is taken.
const PATIENCE: Duration = Duration::from_secs(10);

/// A question: its turn, and the digest of the consent or the id of the dialog.
type Question = (TurnId, String);

/// An answer from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Yes or no to a consent.
    Consent(bool),
    /// Words for a dialog.
    Words(String),
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// Whoever waits goes on with it.
    Taken,
    /// Another answer came first, or nobody waits any more: the log says what became of the question.
    Late,
    /// Nobody of this process waits for it.
    Nobody,
}

/// The seats of one instance.
#[derive(Default)]
pub struct Seats {
    waiters: Mutex<BTreeMap<Question, Waiter>>,
    changed: Condvar,
}

struct Waiter {
    wakes: CancelFlag,
    said: Option<Said>,
    is_taken: Arc<AtomicBool>,
}

/// Somebody who waits for the answer to one question, until this is dropped.
pub struct Seat<'a> {
    seats: &'a Seats,
    question: Question,
    wakes: CancelFlag,
}

impl Seats {
    fn waiters(&self) -> MutexGuard<'_, BTreeMap<Question, Waiter>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the answer to a question from here on.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn sit(&self, turn: TurnId, question: &str) -> io::Result<Seat<'_>> {
        let (question, wakes) = ((turn, question.to_owned()), CancelFlag::new()?);
        let waiter = Waiter { wakes: wakes.clone(), said: None, is_taken: Arc::default() };
        self.waiters().insert(question.clone(), waiter);
        Ok(Seat { seats: self, question, wakes })
    }

    /// Hands an answer to whoever waits for it; when this returns, they have taken it or never will. Where another answer came
    /// first, that one stands in the log by then.
    pub fn hand(&self, turn: TurnId, question: &str, said: Said) -> Handed {
        let question = (turn, question.to_owned());
        let mut waiters = self.waiters();
        let Some(waiter) = waiters.get_mut(&question) else { return Handed::Nobody };
        let is_taken = Arc::clone(&waiter.is_taken);
        let is_first = waiter.said.is_none() && !is_taken.load(Ordering::SeqCst);
        if is_first {
            waiter.said = Some(said);
            waiter.wakes.cancel();
        }
        let is_this = |waiter: &Waiter| Arc::ptr_eq(&waiter.is_taken, &is_taken);
        let is_open = |waiters: &mut BTreeMap<Question, Waiter>| {
            waiters.get(&question).is_some_and(is_this) && !(is_first && is_taken.load(Ordering::SeqCst))
        };
        let over = self.changed.wait_timeout_while(waiters, PATIENCE, is_open);
        let (mut waiters, _) = over.unwrap_or_else(PoisonError::into_inner);
        if !is_first {
            return Handed::Late;
        }
        if is_taken.load(Ordering::SeqCst) {
            return Handed::Taken;
        }
        if let Some(waiter) = waiters.get_mut(&question).filter(|waiter| is_this(waiter)) {
            waiter.said = None;
        }
        Handed::Late
    }
}

impl Seat<'_> {
    /// Raised once an answer was handed in.
    pub fn wakes(&self) -> &CancelFlag {
        &self.wakes
    }

    /// The answer that was handed in; from then on it is theirs.
    pub fn take(&self) -> Option<Said> {
        let mut waiters = self.seats.waiters();
        let waiter = waiters.get_mut(&self.question)?;
        let said = waiter.said.take()?;
        waiter.is_taken.store(true, Ordering::SeqCst);
        self.seats.changed.notify_all();
        Some(said)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.seats.waiters().remove(&self.question);
        self.seats.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: TurnId = TurnId([7; 16]);

    #[test]
    fn an_answer_reaches_its_own_question_once() {
        let seats = Seats::default();
        assert_eq!(seats.hand(TURN, "a", Said::Consent(true)), Handed::Nobody);
        let seat = seats.sit(TURN, "a").unwrap();
        assert_eq!(seats.hand(TURN, "b", Said::Consent(true)), Handed::Nobody);
        assert_eq!(seats.hand(TurnId([8; 16]), "a", Said::Consent(true)), Handed::Nobody);
        assert_eq!((seat.take(), seat.wakes().is_raised()), (None, false));
        std::thread::scope(|scope| {
            let handed = scope.spawn(|| seats.hand(TURN, "a", Said::Consent(false)));
            while !seat.wakes().is_raised() {
                std::thread::yield_now();
            }
            assert_eq!(seat.take(), Some(Said::Consent(false)));
            assert_eq!(handed.join().unwrap(), Handed::Taken);
        });
        assert_eq!(seat.take(), None);
        drop(seat);
        assert_eq!(seats.hand(TURN, "a", Said::Consent(true)), Handed::Nobody);
    }

    /// Whoever came second was told so while the first answer was not in the log yet, and found none there.
    #[test]
    fn whoever_is_late_hears_it_once_the_seat_is_left() {
        let seats = Seats::default();
        let seat = seats.sit(TURN, "a").unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| seats.hand(TURN, "a", Said::Consent(true)));
            while !seat.wakes().is_raised() {
                std::thread::yield_now();
            }
            let late = || {
                let (seats, tell) = (&seats, tell.clone());
                scope.spawn(move || tell.send(seats.hand(TURN, "a", Said::Consent(false))).unwrap());
            };
            late();
            assert_eq!((seat.take(), first.join().unwrap()), (Some(Said::Consent(true)), Handed::Taken));
            late();
            let early = told.recv_timeout(Duration::from_millis(100));
            assert!(early.is_err(), "{early:?} before the first answer is recorded");
            drop(seat);
            assert!([told.recv(), told.recv()].iter().all(|handed| *handed == Ok(Handed::Late)));
        });
    }

    #[test]
    fn whoever_goes_away_takes_nothing() {
        let seats = Seats::default();
        let seat = seats.sit(TURN, "a").unwrap();
        std::thread::scope(|scope| {
            let handed = scope.spawn(|| seats.hand(TURN, "a", Said::Words("b.txt".to_owned())));
            while !seat.wakes().is_raised() {
                std::thread::yield_now();
            }
            drop(seat);
            assert_eq!(handed.join().unwrap(), Handed::Late);
        });
    }
}
