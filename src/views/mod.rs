//! Views that grow with the log, each in a file of its own below `data/projections` (design 2-log, «Projections»): made when
//! somebody asks, caught up by whoever asks next, made again from event 1 where the log does not bear a file out.
//!
//! A file is only ever believed as far as the chain says so. One that is damaged, of another version, of another log or of
//! another chain is replaced by a new one that is made beside it and takes its place when it is complete; a making that
//! broke off goes on where it was. Nothing here is needed for truth: whoever reads the log itself finds the same.

pub mod audit;
mod file;
pub mod state;
#[cfg(test)]
mod tests;
pub mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use metnos_log::store::{Head, ReadError};
use metnos_log::{Reader, Recorded};
use metnos_projections::view::View;
use metnos_projections::views::audit::index::Index;
use metnos_projections::views::search::Search;

use crate::faults;
use crate::instance::{Instance, InstanceError};
use crate::projector::Watch;
use file::{File, Place};

pub use file::FileError;
pub(crate) use file::position;

/// How many events a transaction takes in. Each is synced, once: a making that broke off loses no more than this.
const EVENTS: u64 = if cfg!(test) { 40 } else { 4096 };
/// After how many rows it ends sooner, so that what waits stays small.
const ROWS: usize = 65_536;
/// A file that cannot even be believed when it was just made is given up.
const ATTEMPTS: usize = 3;

/// Why a view cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its file cannot be used, nor another one be made.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no room for its file.
    #[error(transparent)]
    Instance(#[from] Box<InstanceError>),
}

/// The file of one view, shared by all commands of a process.
#[derive(Default)]
struct Slot {
    /// Locked before [`Self::open`], by whoever makes the file anew or takes it away.
    making: Mutex<()>,
    /// The file that serves; locked while it is caught up. Whoever asks it holds it without the lock.
    open: Mutex<Option<Arc<File>>>,
}

impl Slot {
    fn open(&self) -> MutexGuard<'_, Option<Arc<File>>> {
        // A thread that broke off has committed a transaction or has not.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A view that has a file.
trait Held: View {
    fn slot(views: &Views) -> &Slot;
}

macro_rules! views {
    ($($field:ident: $view:ty),+ $(,)?) => {
        /// The files of all views.
        #[derive(Default)]
        pub struct Views {
            $($field: Slot,)+
            damaged: Mutex<BTreeSet<&'static str>>,
        }

        $(impl Held for $view {
            fn slot(views: &Views) -> &Slot {
                &views.$field
            }
        })+

        impl Views {
            fn slots(&self) -> Vec<&Slot> {
                vec![$(&self.$field),+]
            }
        }

        /// What is the same for each view.
        fn each<T>(instance: &Instance, of: &dyn Fn(&Instance, &dyn Of) -> T) -> Vec<T> {
            vec![$(of(instance, &Kind::<$view>::default())),+]
        }
    };
}

views! {
    audit_index: Index,
    search: Search,
}

/// One view, without its type.
trait Of {
    fn state(&self, instance: &Instance) -> Result<state::State, ViewError>;
    fn compared(&self, instance: &Instance, watch: Watch<'_>) -> Result<Option<state::Compared>, ViewError>;
}

struct Kind<V>(std::marker::PhantomData<V>);

impl<V> Default for Kind<V> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<V: Held> Of for Kind<V> {
    fn state(&self, instance: &Instance) -> Result<state::State, ViewError> {
        state::of::<V>(instance)
    }

    fn compared(&self, instance: &Instance, watch: Watch<'_>) -> Result<Option<state::Compared>, ViewError> {
        state::compared::<V>(instance, watch)
    }
}

impl Views {
    /// The views whose files were found to be damaged, each once: whoever takes them tells a person of it.
    pub fn take_damaged(&self) -> BTreeSet<&'static str> {
        std::mem::take(&mut *self.damaged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something while no file of a view is open, and none is being made: what is taken away does not come back.
    pub fn while_closed<T>(&self, work: impl FnOnce() -> T) -> T {
        let slots = self.slots();
        let _making: Vec<_> =
            slots.iter().map(|slot| slot.making.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let mut open: Vec<_> = slots.iter().map(|slot| slot.open()).collect();
        for file in &mut open {
            **file = None;
        }
        work()
    }
}

/// A file to ask.
struct Served {
    file: Arc<File>,
    /// The last event that it knows of.
    position: u64,
}

/// What the log says of a file.
enum Judged {
    /// It is true as far as it goes.
    Current(Place),
    /// The same, and of an older version that still answers.
    Older(Place),
    /// It is not to be believed.
    Not,
}

/// Remembers that a file is damaged. It is met more than once until another one takes its place.
fn damaged<V: View>(instance: &Instance, error: &FileError) {
    tracing::debug!(view = V::NAME, error = error as &dyn std::error::Error, "a view is damaged");
    instance.views.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(V::NAME);
}

fn judged<V: View>(file: &File, instance: &Instance) -> Result<Judged, ViewError> {
    let place = match file.place() {
        Ok(Some(place)) => place,
        Ok(None) => return Ok(Judged::Not),
        Err(error) => {
            damaged::<V>(instance, &error);
            return Ok(Judged::Not);
        }
    };
    let (log, head) = (&instance.log, instance.log.head());
    if place.view != V::NAME || place.log != log.id() || place.position > head.size {
        return Ok(Judged::Not);
    }
    let there = if place.position == head.size { head.head } else { log.reader().head_at(place.position)? };
    Ok(match place.version {
        _ if there != place.head => Judged::Not,
        version if version == V::VERSION => Judged::Current(place),
        version if (V::SERVES_FROM..V::VERSION).contains(&version) => Judged::Older(place),
        _ => Judged::Not,
    })
}

fn path<V: View>(instance: &Instance, ending: &str) -> PathBuf {
    instance.dirs.data.join("projections").join(format!("{}.{ending}", V::NAME))
}

/// Asks a view; where its file turns out to be damaged, asks a new one.
fn ask<V: Held, T>(
    instance: &Instance,
    watch: Watch<'_>,
    mut question: impl FnMut(&Served) -> Result<T, FileError>,
) -> Result<T, ViewError> {
    match question(&current::<V>(instance, watch)?) {
        Err(error) => {
            damaged::<V>(instance, &error);
            discard::<V>(instance)?;
            Ok(question(&current::<V>(instance, watch)?)?)
        }
        answer => Ok(answer?),
    }
}

/// Takes a view's file away; whoever asks next makes another one.
fn discard<V: Held>(instance: &Instance) -> Result<(), FileError> {
    let mut open = V::slot(&instance.views).open();
    *open = None;
    file::remove(&path::<V>(instance, "redb"))
}

/// The file of a view, caught up with the log. While somebody else makes it anew, the one that there was, if it can serve.
fn current<V: Held>(instance: &Instance, watch: Watch<'_>) -> Result<Served, ViewError> {
    let slot = V::slot(&instance.views);
    let mut failed = None;
    for _ in 0..ATTEMPTS {
        if let Some(served) = caught_up::<V>(instance, slot, watch)? {
            return Ok(served);
        }
        let making = match slot.making.try_lock() {
            Ok(making) => making,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if let Some(older) = older::<V>(instance, slot)? {
                    return Ok(older);
                }
                let waited = slot.making.lock();
                drop(waited);
                continue;
            }
        };
        // Whoever made it a moment ago has let go of it since.
        if let Some(served) = caught_up::<V>(instance, slot, watch)? {
            return Ok(served);
        }
        match make::<V>(instance, watch) {
            Ok(file) => {
                let mut open = slot.open();
                let (new, ready) = (path::<V>(instance, "redb.new"), path::<V>(instance, "redb"));
                fs::rename(&new, &ready).map_err(|source| FileError::Io { path: ready, source })?;
                *open = Some(Arc::new(file));
            }
            Err(ViewError::File(error)) => {
                file::remove(&path::<V>(instance, "redb.new"))?;
                failed = Some(error);
            }
            Err(other) => return Err(other),
        }
        drop(making);
    }
    let unbelieved =
        || FileError::Damaged { path: path::<V>(instance, "redb"), what: "the log does not bear it out".to_owned() };
    Err(failed.unwrap_or_else(unbelieved).into())
}

/// The file that serves, caught up with the log; `None` where there is none, or none that is to be believed.
fn caught_up<V: Held>(instance: &Instance, slot: &Slot, watch: Watch<'_>) -> Result<Option<Served>, ViewError> {
    let mut open = slot.open();
    let Some(file) = opened::<V>(instance, &mut open) else { return Ok(None) };
    let Judged::Current(place) = judged::<V>(&file, instance)? else { return Ok(None) };
    match catch_up::<V>(&file, place, (instance, &instance.log.head()), watch) {
        Ok(position) => Ok(Some(Served { file, position })),
        Err(ViewError::File(error)) => {
            damaged::<V>(instance, &error);
            *open = None;
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// The file that there is, opened if it was not.
fn opened<V: Held>(instance: &Instance, open: &mut Option<Arc<File>>) -> Option<Arc<File>> {
    let path = path::<V>(instance, "redb");
    if open.is_none() && path.exists() {
        match File::open(&path, false) {
            Ok(file) => *open = Some(Arc::new(file)),
            Err(error) => {
                damaged::<V>(instance, &error);
            }
        }
    }
    open.clone()
}

/// The file of an older version, as far as it is.
fn older<V: Held>(instance: &Instance, slot: &Slot) -> Result<Option<Served>, ViewError> {
    let mut open = slot.open();
    let Some(file) = opened::<V>(instance, &mut open) else { return Ok(None) };
    match judged::<V>(&file, instance)? {
        Judged::Older(Place { position, .. }) => Ok(Some(Served { file, position })),
        Judged::Current(_) | Judged::Not => Ok(None),
    }
}

/// Makes a file beside the one that serves, or goes on with one that was begun.
fn make<V: Held>(instance: &Instance, watch: Watch<'_>) -> Result<File, ViewError> {
    let path = path::<V>(instance, "redb.new");
    let begun = |file: File| match judged::<V>(&file, instance) {
        Ok(Judged::Current(place)) => Some((file, place)),
        _ => None,
    };
    let found = if path.exists() { File::open(&path, false).ok().and_then(begun) } else { None };
    let (mut file, place) = match found {
        Some(found) => found,
        None => (fresh(&path)?, begin::<V>(instance)),
    };
    catch_up::<V>(&file, place, (instance, &instance.log.head()), watch)?;
    file.compact()?;
    faults::view_step();
    Ok(file)
}

/// An empty file, whatever was there.
fn fresh(path: &std::path::Path) -> Result<File, FileError> {
    file::remove(path)?;
    File::open(path, false)
}

/// Where a fold begins.
fn begin<V: View>(instance: &Instance) -> Place {
    Place {
        view: V::NAME.to_owned(),
        version: V::VERSION,
        log: instance.log.id().to_owned(),
        position: 0,
        head: metnos_log::chain::GENESIS,
        carried: V::default().carried(),
    }
}

/// Takes in the events up to an end, some thousand a transaction; the number of the last one.
fn catch_up<V: View>(
    file: &File,
    mut place: Place,
    (instance, end): (&Instance, &Head),
    watch: Watch<'_>,
) -> Result<u64, ViewError> {
    if place.position >= end.size {
        return Ok(place.position);
    }
    instance.refuse_full_disk().map_err(Box::new)?;
    let reader = instance.log.reader();
    let mut view = V::restore(&place.carried).ok_or_else(|| file.damaged("what it goes on with cannot be read"))?;
    let mut rows = BTreeMap::new();
    reader.each_lent(place.position + 1, |recorded| {
        let mut put = |key, value| {
            rows.insert(key, value);
        };
        match fetched::<V>(recorded, &reader)? {
            Some(whole) => view.evolve(&whole, &mut put),
            None => view.evolve(recorded, &mut put),
        }
        let is_last = recorded.seq == end.size;
        if is_last || recorded.seq - place.position >= EVENTS || rows.len() >= ROWS {
            place.head = if is_last { end.head } else { reader.head_at(recorded.seq)? };
            (place.position, place.carried) = (recorded.seq, view.carried());
            faults::view_step();
            file.commit(&rows, &place)?;
            faults::view_step();
            rows.clear();
            if !is_last {
                watch(recorded.seq, end.size);
            }
        }
        Ok::<bool, ViewError>(!is_last)
    })?;
    Ok(place.position)
}

/// The event with its texts, where a view wants them and they lie elsewhere.
fn fetched<V: View>(recorded: &Recorded, reader: &Reader) -> Result<Option<Recorded>, ReadError> {
    let wants = V::wants_texts(&recorded.kind) && recorded.event().is_some_and(|event| !event.is_whole());
    wants.then(|| reader.rehydrated(recorded.clone())).transpose()
}
