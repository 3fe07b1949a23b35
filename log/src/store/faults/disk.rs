//! A disk in memory that knows what a power cut leaves: bytes that were synced, and writes that were not yet.
//!
//! What was written since the last sync is kept, lost or torn by sectors when the power goes, each write for itself and in
//! any order; so is a new length. The power goes at a chosen call, before it, in the middle of it or after it. A lying
//! disk says «synced» and keeps on waiting. The model does not lose what was synced, and no sector is half written: that is
//! what disks promise.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use redb::StorageBackend;

use super::chance::Chance;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;
/// How long the writer may take to come to a closed gate: far more than it ever needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A change that no sync has covered.
#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

/// What has a power cut in the middle of a call done to it.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Before,
    Amid,
    After,
}

/// The call in which the power goes, counted from now: 0 is the next one.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) enum Cut {
    /// Of all that change something.
    Call(usize),
    /// Of the syncs alone: what lies around them is what a log lives by, and they are few.
    Sync(usize),
}

#[derive(Debug)]
struct State {
    /// What the program sees.
    live: Vec<u8>,
    /// What the last sync covered.
    durable: Vec<u8>,
    pending: Vec<Change>,
    power: bool,
    /// When the power goes.
    cut: Option<Cut>,
    /// Syncs until the disk begins to lie.
    lies_in: Option<usize>,
    gate_closed: bool,
    at_gate: bool,
    chance: Chance,
    /// Which bytes were read, where somebody wants to know.
    read: Option<Vec<bool>>,
    syncs: u64,
    written: u64,
    trace: u64,
}

/// A disk in memory. The handle that redb gets is [`Handle`].
#[derive(Debug)]
pub(in crate::store) struct Disk {
    state: Mutex<State>,
    moved: Condvar,
}

impl Default for Disk {
    fn default() -> Self {
        Self::holding(Vec::new(), Chance::of(0))
    }
}

impl Disk {
    /// A disk that holds these bytes, synced; `chance` decides what a cut does.
    pub(in crate::store) fn holding(bytes: Vec<u8>, chance: Chance) -> Self {
        let state = State {
            live: bytes.clone(),
            durable: bytes,
            pending: Vec::new(),
            power: true,
            cut: None,
            lies_in: None,
            gate_closed: false,
            at_gate: false,
            chance,
            read: None,
            syncs: 0,
            written: 0,
            trace: 0,
        };
        Self { state: Mutex::new(state), moved: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// Switches the power on or off.
    pub(in crate::store) fn power(&self, on: bool) {
        self.state().power = on;
    }

    pub(in crate::store) fn has_power(&self) -> bool {
        self.state().power
    }

    /// The power goes then.
    pub(in crate::store) fn cut_at(&self, cut: Cut) {
        self.state().cut = Some(cut);
    }

    /// From so many syncs on (0: the next one), the disk says «synced» and syncs nothing.
    pub(in crate::store) fn lies_in(&self, syncs: usize) {
        self.state().lies_in = Some(syncs);
    }

    /// Syncs and bytes written since the last call.
    pub(in crate::store) fn asked(&self) -> (u64, u64) {
        let mut state = self.state();
        (std::mem::take(&mut state.syncs), std::mem::take(&mut state.written))
    }

    /// One number for every call that came, in order, with its place and length.
    pub(in crate::store) fn trace(&self) -> u64 {
        self.state().trace
    }

    /// From here on it is noted which bytes are read.
    pub(in crate::store) fn watch_reads(&self) {
        let mut state = self.state();
        state.read = Some(vec![false; state.live.len()]);
    }

    /// The places of the bytes that were read.
    pub(in crate::store) fn read_places(&self) -> Vec<usize> {
        let state = self.state();
        let read = state.read.iter().flatten().enumerate();
        read.filter_map(|(place, was_read)| was_read.then_some(place)).collect()
    }

    /// What the program sees.
    pub(in crate::store) fn bytes(&self) -> Vec<u8> {
        self.state().live.clone()
    }

    /// Whoever writes next waits until the gate is open again.
    pub(in crate::store) fn close_gate(&self) {
        let mut state = self.state();
        (state.gate_closed, state.at_gate) = (true, false);
    }

    /// Waits until somebody stands at the closed gate.
    pub(in crate::store) fn await_arrival(&self) {
        let waited = self.moved.wait_timeout_while(self.state(), PATIENCE, |state| !state.at_gate);
        let (state, timeout) = waited.expect("no holder of this lock panics");
        assert!(!timeout.timed_out(), "the writer never came to the disk: {} pending", state.pending.len());
    }

    pub(in crate::store) fn open_gate(&self) {
        self.state().gate_closed = false;
        self.moved.notify_all();
    }

    /// What is there when the power comes back: all that was synced, and whatever chance left of the rest.
    pub(in crate::store) fn survivors(&self) -> Vec<u8> {
        let mut state = self.state();
        let State { durable, pending, chance, .. } = &mut *state;
        let mut bytes = durable.clone();
        // Out of a hundred, up to which a write is kept, and up to which lost; beyond it is torn. One proportion alone would
        // never come to «all» and «nothing».
        let (kept, lost) = *chance.pick(&[(33, 66), (80, 90), (10, 90), (10, 20), (50, 100), (100, 100), (0, 100)]);
        let in_order = chance.percent(50);
        let mut run = Vec::new();
        let settle = |bytes: &mut Vec<u8>, run: &mut Vec<(usize, &[u8])>, chance: &mut Chance| {
            if !in_order {
                chance.shuffle(run);
            }
            run.drain(..).for_each(|(at, written)| survive(bytes, at, written, (kept, lost), chance));
        };
        for change in &*pending {
            match change {
                Change::Write { at, bytes } => run.push((*at, bytes.as_slice())),
                Change::Length(length) => {
                    settle(&mut bytes, &mut run, chance);
                    if chance.percent(50) {
                        bytes.resize(*length, 0);
                    }
                }
            }
        }
        settle(&mut bytes, &mut run, chance);
        bytes
    }

    /// One call that changes something; `work` is what it does, `None` a sync.
    fn call(&self, change: Option<Change>) -> io::Result<()> {
        let mut state = self.state();
        if state.gate_closed {
            state.at_gate = true;
            self.moved.notify_all();
            state = self.moved.wait_while(state, |state| state.gate_closed).expect("no holder of this lock panics");
        }
        if !state.power {
            return Err(gone());
        }
        state.note(change.as_ref());
        if !state.is_last(change.as_ref()) {
            state.carry_out(change);
            return Ok(());
        }
        state.power = false;
        match (*state.chance.pick(&[Moment::Before, Moment::Amid, Moment::After]), change) {
            (Moment::Before, _) | (Moment::Amid, None) => {}
            // Part of it: what is pending survives in part.
            (Moment::Amid, Some(change)) => state.pending.push(change),
            (Moment::After, change) => state.carry_out(change),
        }
        Err(gone())
    }
}

impl State {
    fn note(&mut self, change: Option<&Change>) {
        let (kind, at, length) = match change {
            None => (1, 0, 0),
            Some(Change::Length(length)) => (2, *length, 0),
            Some(Change::Write { at, bytes }) => (3, *at, bytes.len()),
        };
        for number in [kind, at, length] {
            self.trace = (self.trace ^ number as u64).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
    }

    /// Counts towards the cut; whether this call is the one.
    fn is_last(&mut self, change: Option<&Change>) -> bool {
        let left = match &mut self.cut {
            Some(Cut::Call(left)) => left,
            Some(Cut::Sync(left)) if change.is_none() => left,
            Some(Cut::Sync(_)) | None => return false,
        };
        let is_last = *left == 0;
        *left = left.saturating_sub(1);
        is_last
    }

    fn carry_out(&mut self, change: Option<Change>) {
        match change {
            None => self.sync(),
            Some(Change::Length(length)) => {
                self.live.resize(length, 0);
                self.pending.push(Change::Length(length));
            }
            Some(Change::Write { at, bytes }) => {
                self.written += bytes.len() as u64;
                self.live[at..at + bytes.len()].copy_from_slice(&bytes);
                self.pending.push(Change::Write { at, bytes });
            }
        }
    }

    fn sync(&mut self) {
        self.syncs += 1;
        match &mut self.lies_in {
            Some(0) => return,
            Some(syncs) => *syncs -= 1,
            None => {}
        }
        for change in self.pending.drain(..) {
            match change {
                Change::Length(length) => self.durable.resize(length, 0),
                Change::Write { at, bytes } => self.durable[at..at + bytes.len()].copy_from_slice(&bytes),
            }
        }
        debug_assert!(self.durable.len() == self.live.len(), "a sync leaves nothing behind");
    }
}

/// What a cut leaves of one write: all, nothing, or some of its sectors. What lies beyond the file's end is lost.
fn survive(bytes: &mut [u8], at: usize, written: &[u8], (kept, lost): (usize, usize), chance: &mut Chance) {
    let drawn = chance.below(100);
    if drawn >= kept && drawn < lost {
        return;
    }
    let mut from = at;
    while from < at + written.len() {
        let until = ((from / SECTOR_BYTES + 1) * SECTOR_BYTES).min(at + written.len());
        if until <= bytes.len() && (drawn < kept || chance.percent(50)) {
            bytes[from..until].copy_from_slice(&written[from - at..until - at]);
        }
        from = until;
    }
}

fn gone() -> io::Error {
    io::Error::other("the disk is gone")
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).expect("a disk in memory is addressed by usize")
}

/// What redb gets.
#[derive(Debug, Clone)]
pub(in crate::store) struct Handle(pub(in crate::store) Arc<Disk>);

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        let state = self.0.state();
        if state.power { Ok(state.live.len() as u64) } else { Err(gone()) }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.0.state();
        if !state.power {
            return Err(gone());
        }
        let end = place(offset).checked_add(out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Some(read) = &mut state.read {
            let known = place(offset).min(read.len())..end.min(read.len());
            read[known].fill(true);
        }
        out.copy_from_slice(state.live.get(place(offset)..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.call(Some(Change::Length(place(len))))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.call(None)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.call(Some(Change::Write { at: place(offset), bytes: data.to_vec() }))
    }
}
