//! Where appends are handed in, and who writes them.
//!
//! Whoever waits for an append writes it itself while nobody else is writing, with all that queued meanwhile: to hand it to
//! another thread and be woken by it takes longer than anything else but the sync. What nobody waits for here, and what comes
//! while somebody writes, is done by a thread of the log's own. Whoever hands something in either writes, or wakes that
//! thread: so nothing is left lying.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::writer::Writer;
use super::{AppendError, Appended, Message};

/// How many requests may wait before whoever hands one in waits, too.
const QUEUE: usize = 1024;

/// The log's writer, and the way to it. Dropping it stops the writer after all that was handed in is done.
pub(super) struct Desk {
    requests: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    work: Mutex<Work>,
    is_closing: AtomicBool,
}

/// What one thread at a time does.
struct Work {
    /// None once the store has failed.
    writer: Option<Writer>,
    inbox: mpsc::Receiver<Message>,
    /// What was taken out of the inbox, and is next.
    behind: Option<Message>,
}

impl Work {
    /// Does the next of what was handed in; `false` where nothing is left.
    fn next(&mut self) -> bool {
        let next = self.behind.take().or_else(|| self.inbox.try_recv().ok());
        next.map(|message| self.does(message)).is_some()
    }

    /// What comes after a failure is refused, not tried.
    fn does(&mut self, message: Message) {
        // Taken out while it works: one that broke off in the midst does not go on.
        if let Some(mut writer) = self.writer.take()
            && let Ok(behind) = writer.does(message, &mut self.inbox)
        {
            (self.writer, self.behind) = (Some(writer), behind);
        } else {
            self.inbox.close();
        }
    }

    /// Whether nothing was handed in that is not done.
    fn is_idle(&self) -> bool {
        self.behind.is_none() && self.inbox.is_empty()
    }
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work, unless somebody is at it.
    fn work_now(&self) -> Option<MutexGuard<'_, Work>> {
        match self.work.try_lock() {
            Ok(work) => Some(work),
            Err(TryLockError::Poisoned(work)) => Some(work.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does what nobody else does, until the log is closed.
    fn attend(&self) {
        loop {
            // Looked at first: nothing is handed in after it.
            let is_last = self.is_closing.load(Ordering::Acquire);
            let mut work = self.work();
            while work.next() {}
            if is_last {
                return work.writer.take().into_iter().for_each(Writer::finish);
            }
            drop(work);
            std::thread::park();
        }
    }
}

impl Desk {
    /// Starts the thread.
    pub(super) fn open(writer: Writer) -> std::io::Result<Self> {
        let (requests, inbox) = mpsc::channel(QUEUE);
        let work = Mutex::new(Work { writer: Some(writer), inbox, behind: None });
        let shared = Arc::new(Shared { work, is_closing: AtomicBool::new(false) });
        let attending = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("log-writer".to_owned()).spawn(move || attending.attend())?;
        Ok(Self { requests, shared, thread: Some(thread) })
    }

    /// Hands something in for the log's own thread. Waits where too much waits already.
    pub(super) fn hand_in(&self, message: Message) {
        self.push(message);
        self.ring();
    }

    /// Hands an append in and does it, or waits until it is done. Must not be called on an async worker.
    pub(super) fn append(
        &self,
        message: Message,
        mut pending: oneshot::Receiver<Result<Appended, AppendError>>,
    ) -> Result<Appended, AppendError> {
        // Whoever waits for room in the queue must not keep others from making it.
        let mut idle = self.shared.work_now().filter(|work| work.is_idle());
        match &mut idle {
            Some(work) => work.does(message),
            None => self.push(message),
        }
        let is_more = idle.or_else(|| self.shared.work_now()).is_none_or(|mut work| {
            while pending.is_empty() && work.next() {}
            work.behind.is_some()
        });
        if is_more {
            self.ring();
        }
        let answer = match pending.try_recv() {
            Err(TryRecvError::Empty) => pending.blocking_recv().ok(),
            answered => answered.ok(),
        };
        answer.unwrap_or(Err(AppendError::Stopped))
    }

    /// Whether the writer has stopped.
    #[cfg(test)]
    pub(super) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }

    /// A request that the writer no longer takes is dropped, and its acknowledgement with it: the caller sees `Stopped`.
    fn push(&self, message: Message) {
        if let Err(TrySendError::Full(message)) = self.requests.try_send(message) {
            // Waits for room on a thread of its own, since the caller may be async.
            std::thread::scope(|scope| {
                scope.spawn(|| drop(self.requests.blocking_send(message)));
            });
        }
    }

    fn ring(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Release);
        self.ring();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing left to wait for.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::faults::{self, disk::Disk};
    use super::super::tests::draft;
    use super::super::{Append, Appended, Expect};
    use super::QUEUE;
    use crate::envelope::Draft;
    use crate::id::EventId;

    fn numbered(number: u32) -> Append {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        Append { events: vec![Draft { id: EventId(id), ..draft(1, "a") }], expect: Expect::Any }
    }

    /// Some wait for what they append, some do not, one wants signatures: whoever writes at the moment, each gets its answer.
    #[test]
    fn nothing_is_left_lying() {
        const EACH: u32 = 300;
        let log = faults::start(&Arc::new(Disk::default())).unwrap();
        let first = |appended| match appended {
            Ok(Appended::At { first, .. }) => first,
            other => panic!("{other:?}"),
        };
        let mut seqs: Vec<u64> = std::thread::scope(|scope| {
            let log = &log;
            let waiting = (0..4).map(|producer| {
                let numbers = producer * EACH..(producer + 1) * EACH;
                scope.spawn(move || numbers.map(|number| first(log.append(numbered(number)))).collect::<Vec<_>>())
            });
            let waiting: Vec<_> = waiting.collect();
            let later = scope.spawn(move || {
                let pending: Vec<_> = (4 * EACH..5 * EACH).map(|number| log.submit(numbered(number))).collect();
                pending.into_iter().map(|pending| first(pending.wait())).collect::<Vec<_>>()
            });
            let signed = scope.spawn(move || (0..50).for_each(|_| drop(log.checkpoint().unwrap())));
            signed.join().unwrap();
            waiting.into_iter().chain([later]).flat_map(|producer| producer.join().unwrap()).collect()
        });
        seqs.sort_unstable();
        assert_eq!(seqs, (1..=u64::from(5 * EACH)).collect::<Vec<_>>());
        assert_eq!(log.reader().verify(|_, _| {}).unwrap().head.size, u64::from(5 * EACH));
    }

    /// An append takes its turn behind what waits, also where it has to wait for room, and keeps nobody from making it.
    #[test]
    fn an_append_behind_a_full_queue_is_the_last() {
        let log = faults::start(&Arc::new(Disk::default())).unwrap();
        let desk = log.desk.as_ref().unwrap();
        let number = |number: usize| numbered(u32::try_from(number).unwrap());
        // Nobody is woken by these.
        let waiting: Vec<_> = (0..QUEUE)
            .map(|at| {
                let (message, pending) = log.request(number(at));
                desk.push(message);
                pending
            })
            .collect();
        let last = QUEUE as u64 + 1;
        std::thread::scope(|scope| {
            let appended = scope.spawn(|| log.append(number(QUEUE)));
            std::thread::sleep(Duration::from_millis(50));
            desk.ring();
            assert_eq!(appended.join().unwrap(), Ok(Appended::At { first: last, last }));
        });
        assert!(waiting.into_iter().all(|pending| matches!(pending.blocking_recv(), Ok(Ok(Appended::At { .. })))));
    }

    #[test]
    fn what_was_handed_in_is_done_before_the_log_is_gone() {
        let disk = Arc::new(Disk::default());
        let log = faults::start(&disk).unwrap();
        let pending: Vec<_> = (0..200).map(|number| log.submit(numbered(number))).collect();
        drop(log);
        assert!(pending.into_iter().all(|pending| matches!(pending.wait(), Ok(Appended::At { .. }))));
        assert_eq!(faults::start(&disk).unwrap().head().size, 200);
    }

    /// The writer is gone with the disk; nobody waits for ever, whichever way they came.
    #[test]
    fn a_log_that_has_stopped_answers_everybody() {
        let disk = Arc::new(Disk::default());
        let log = faults::start(&disk).unwrap();
        log.append(numbered(0)).unwrap();
        disk.power(false);
        std::thread::scope(|scope| {
            let log = &log;
            for producer in 1..5 {
                scope.spawn(move || {
                    let numbers = producer * 50..(producer + 1) * 50;
                    numbers.for_each(|number| assert!(log.append(numbered(number)).is_err()));
                });
            }
            scope
                .spawn(move || (0..50).for_each(|number| assert!(log.submit(numbered(1000 + number)).wait().is_err())));
        });
        assert!(log.checkpoint().is_err() && log.compact().is_err());
    }
}
