//! What a daemon carries beside commands: channels, the scheduler. Each is a service on a thread of its own, with the
//! shared instance, and ends when it is told to.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::instance::Instance;

/// As much as the first thread of a process has.
const STACK_BYTES: usize = 8 << 20;

/// What a service works with.
#[derive(Clone)]
pub struct Around {
    /// The instance, as the host has it.
    pub instance: Instance,
    /// Told when the daemon ends.
    pub stop: Stop,
    /// The daemon's runtime, for what is asynchronous in it.
    pub runtime: Handle,
}

/// Whether a daemon is to end; cheap to clone.
#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Whether it is to end now.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Comes back when it is to end.
    pub async fn raised(&self) {
        // Whoever would raise it is gone as well when this fails.
        self.0.clone().wait_for(|raised| *raised).await.ok();
    }
}

impl Around {
    /// Waits this long; `true` as soon as the daemon is to end. Not for use within the runtime.
    pub fn wait(&self, time: Duration) -> bool {
        let raised = self.stop.raised();
        self.runtime.block_on(async { tokio::time::timeout(time, raised).await.is_ok() })
    }
}

/// One service.
pub trait Service: Send + Sync {
    /// Names it in the program's own messages and in the status.
    fn name(&self) -> &'static str;
    /// Works until the daemon ends. What fails is told in the program's messages and tried again: nothing of it ends the
    /// daemon.
    fn run(&self, around: &Around);
}

/// The services of a daemon at work.
pub struct Services {
    raise: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Services {
    /// Starts each of them.
    pub fn start(instance: &Instance, runtime: &Handle, services: Vec<Arc<dyn Service>>) -> io::Result<Self> {
        let (raise, stop) = watch::channel(false);
        let around = Around { instance: instance.clone(), stop: Stop(stop), runtime: runtime.clone() };
        let mut started = Self { raise, threads: Vec::new() };
        for service in services {
            let around = around.clone();
            let thread = std::thread::Builder::new().name(service.name().to_owned()).stack_size(STACK_BYTES);
            started.threads.push(thread.spawn(move || service.run(&around))?);
        }
        Ok(started)
    }

    /// Tells each of them to end.
    pub fn stop(&self) {
        self.raise.send_replace(true);
    }

    /// Whether all of them have ended.
    pub fn have_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::config::{Flags, Variables};

    struct Waits(AtomicBool);

    impl Service for Waits {
        fn name(&self) -> &'static str {
            "waits"
        }

        fn run(&self, around: &Around) {
            while !around.wait(Duration::from_mins(1)) {}
            self.0.store(around.stop.is_raised(), Ordering::SeqCst);
        }
    }

    #[test]
    fn a_service_that_waits_ends_at_once_when_told() {
        let folder = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(folder.path().to_owned()), ..Variables::default() };
        let home = folder.path().join("instance");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        let waits = Arc::new(Waits(AtomicBool::new(false)));
        let services = Services::start(&instance, runtime.handle(), vec![waits.clone()]).unwrap();
        assert!(!services.have_ended());
        services.stop();
        for thread in services.threads {
            thread.join().unwrap();
        }
        assert!(waits.0.load(Ordering::SeqCst));
    }
}
