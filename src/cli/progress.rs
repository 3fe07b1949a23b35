//! One line on stderr that says that a turn still runs and how far it is: drawn after half a second, rewritten in place,
//! removed before anything else is said.
//!
//! It keeps nothing and says nothing where no terminal is: whoever makes one decides that. What an executor calls its
//! progress is shown without orders to the terminal.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metnos_projections::messages::Messages;
use metnos_projections::visible;
use serde_json::json;

use super::console::{self, Console, Stream};
use super::{Context, fit, output};

/// A turn that ends sooner needs no line.
const AFTER: Duration = Duration::from_millis(500);
/// How often the line is drawn again.
const EVERY: Duration = Duration::from_millis(200);
/// Where the terminal does not say how wide it is.
const COLUMNS: usize = 80;

/// The line of one turn; it ends when this is dropped.
pub(super) struct ProgressLine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    console: Arc<dyn Console>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    text: String,
    since: Instant,
    held: bool,
    ended: bool,
    shown: bool,
}

impl Shared {
    /// The state; a thread that broke off leaves nothing half done in it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn erase(&mut self, console: &dyn Console) {
        if std::mem::take(&mut self.shown) {
            // A terminal that is gone is no error.
            console.write(Stream::Err, b"\r\x1b[K").ok();
        }
    }

    fn draw(&mut self, console: &dyn Console) {
        let seconds = self.since.elapsed().as_secs();
        let line = format!("{} … {seconds} s", output::short(&self.text, 200));
        let width = console.columns(Stream::Err).unwrap_or(COLUMNS).saturating_sub(1);
        let line = fit::cut(&visible::name(&line), width);
        console.write(Stream::Err, format!("\r\u{1b}[K{line}").as_bytes()).ok();
        self.shown = true;
    }
}

impl ProgressLine {
    /// A line that appears when the turn takes long. Without a thread to draw it, there is none: the turn matters more.
    pub(super) fn start(console: Arc<dyn Console>) -> Self {
        let state = State { text: String::new(), since: Instant::now(), held: false, ended: false, shown: false };
        let shared = Arc::new(Shared { console, state: Mutex::new(state), changed: Condvar::new() });
        let drawn = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(move || draw_until_ended(&drawn));
        Self { shared, thread: thread.ok() }
    }

    /// What the line says from now on.
    pub(super) fn say(&self, text: String) {
        self.shared.lock().text = text;
    }

    /// Takes the line away while a person is asked.
    pub(super) fn hold(&self) {
        let mut state = self.shared.lock();
        state.held = true;
        state.erase(&*self.shared.console);
    }

    /// Lets the line come again, half a second from now.
    pub(super) fn release(&self) {
        let mut state = self.shared.lock();
        state.held = false;
        state.since = Instant::now();
    }
}

/// The line of a command that may take long; none where nobody looks at it.
pub(super) struct Line(Option<ProgressLine>);

/// A line for a command, where it shows progress at all.
pub(super) fn line(context: &Context) -> Line {
    let console = console::current();
    let shows = !context.global.quiet && !context.global.json && console.is_terminal(Stream::Err);
    Line(shows.then(|| ProgressLine::start(console)))
}

impl Line {
    /// Whether there is one: else nothing need be worded for it.
    pub(super) fn is_drawn(&self) -> bool {
        self.0.is_some()
    }

    /// What it says from now on.
    pub(super) fn say(&self, text: &str) {
        if let Some(line) = &self.0 {
            line.say(text.to_owned());
        }
    }
}

/// The line of what is made of the log, said with how far it is: none before there is something to say, so that the usual
/// few events cost nothing.
pub(super) struct Folding<'c> {
    context: &'c Context,
    line: RefCell<Option<Line>>,
}

/// Such a line for a command.
pub(super) fn folding(context: &Context) -> Folding<'_> {
    Folding { context, line: RefCell::new(None) }
}

impl Folding<'_> {
    /// So many events of so many are taken in.
    pub(super) fn say(&self, done: u64, of: u64) {
        let mut line = self.line.borrow_mut();
        let line = line.get_or_insert_with(|| self::line(self.context));
        if line.0.is_some() {
            let values = json!({ "done": done, "of": of });
            line.say(&Messages::embedded().say(self.context.spoken(), "log.folding", values));
        }
    }

    /// Takes the line away; it comes again with the next thing to say.
    pub(super) fn end(&self) {
        self.line.take();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A drawing thread that broke off has left at worst its line behind, which the next line overwrites.
            thread.join().ok();
        }
    }
}

fn draw_until_ended(shared: &Shared) {
    let mut state = shared.lock();
    let mut pause = AFTER;
    while !state.ended {
        state = shared
            .changed
            .wait_timeout_while(state, pause, |state| !state.ended)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        pause = EVERY;
        if !state.ended && !state.held && state.since.elapsed() >= AFTER {
            state.draw(&*shared.console);
        }
    }
    state.erase(&*shared.console);
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::super::console::{Heard, Wanted};
    use super::super::interrupt::Interrupts;
    use super::*;
    use crate::sandbox::CancelFlag;

    /// A terminal of 20 columns that keeps what is written to it.
    #[derive(Default)]
    struct Screen(Mutex<Vec<u8>>);

    impl Console for Screen {
        fn write(&self, _stream: Stream, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(())
        }
        fn columns(&self, _stream: Stream) -> Option<usize> {
            Some(20)
        }
        fn is_terminal(&self, _stream: Stream) -> bool {
            true
        }
        fn read(&self, _wanted: Wanted, _until: &[&CancelFlag]) -> io::Result<Heard> {
            unreachable!("a line of progress reads nothing")
        }
        fn forget_typed(&self) {}
        fn folder(&self) -> Option<PathBuf> {
            None
        }
        fn interrupts(&self) -> &Interrupts {
            unreachable!("a line of progress hears of no Ctrl-C")
        }
        fn process(&self) -> u32 {
            0
        }
        fn wait(&self, _time: Duration) -> bool {
            true
        }
    }

    #[test]
    fn a_short_turn_shows_nothing_and_a_long_one_a_line_that_goes_again() {
        let screen = Arc::new(Screen::default());
        let line = ProgressLine::start(Arc::clone(&screen) as Arc<dyn Console>);
        line.say("read_files".to_owned());
        drop(line);
        assert_eq!(*screen.0.lock().unwrap(), b"");
        let line = ProgressLine::start(Arc::clone(&screen) as Arc<dyn Console>);
        line.say("read_files of many names".to_owned());
        while screen.0.lock().unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(line);
        let shown = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = shown.split("\r\u{1b}[K").collect();
        assert!(lines.len() >= 3 && lines[0].is_empty() && lines.last().unwrap().is_empty(), "{shown:?}");
        assert!(lines[1].starts_with("read_files") && lines[1].chars().count() <= 19, "{shown:?}");
    }
}
