//! A second thread for large commits: it packs what the first has framed, and lets go of what nobody needs any more, while the
//! first goes on to the sync.

use std::sync::mpsc;
use std::thread;

use super::guard::guarded;
use crate::segment::Packer;

/// Something to do with a packer at hand.
type Job = Box<dyn FnOnce(&mut Packer) + Send>;

/// The thread, while large commits come one behind the other. It ends behind its last job once nobody can hand it more.
#[derive(Default)]
pub(super) struct Aside(Option<mpsc::Sender<Job>>);

impl Aside {
    /// Hands a job to the thread, which does one after the other; where the system has no thread to give, it is done here. The
    /// packer keeps its memory from job to job: to make it anew takes a fifth of what packing does.
    pub(super) fn hand(&mut self, job: impl FnOnce(&mut Packer) + Send + 'static) {
        if self.0.is_none() {
            self.0 = started();
        }
        let job: Job = Box::new(job);
        let refused = match &self.0 {
            Some(jobs) => jobs.send(job).err().map(|mpsc::SendError(job)| job),
            None => Some(job),
        };
        if let Some(job) = refused {
            self.0 = None;
            job(&mut Packer::new());
        }
    }

    /// Lets the thread end: the next large commit may be far.
    pub(super) fn rest(&mut self) {
        self.0 = None;
    }
}

fn started() -> Option<mpsc::Sender<Job>> {
    let (jobs, handed) = mpsc::channel::<Job>();
    let work = move || {
        let mut packer = Packer::new();
        for job in handed {
            // Who waits for one that broke off learns it by getting nothing.
            if guarded(|| job(&mut packer)).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("log-packer".to_owned()).spawn(work).ok().map(|_| jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_done_one_after_the_other() {
        let mut aside = Aside::default();
        let (done, found) = mpsc::channel();
        for number in 0..6 {
            let done = done.clone();
            aside.hand(move |packer| {
                assert!(!packer.pack(&[0; 100]).bytes.is_empty());
                done.send(number).unwrap();
            });
        }
        // What was handed is still done.
        aside.rest();
        drop(done);
        assert_eq!(found.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    }

    /// So the writer stops with it, as it does where the store fails.
    #[test]
    fn who_waits_for_a_job_that_broke_off_learns_it() {
        let mut aside = Aside::default();
        let (done, found) = mpsc::channel::<()>();
        aside.hand(move |_| {
            let _done = done;
            panic!("a job that breaks off");
        });
        assert!(found.recv().is_err());
    }
}
