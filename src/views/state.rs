//! How the files of the views are: where each stands, and whether it holds what the log comes to.

use std::sync::PoisonError;

use metnos_log::store::Head;
use metnos_projections::view::View;

use super::file::{self, File};
use super::{Held, Judged, ViewError, begin, catch_up, discard, each, fresh, judged, opened, path};
use crate::instance::Instance;
use crate::projector::Watch;

/// How the file of a view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It was never asked for, or was taken away.
    Absent,
    /// True up to this event.
    UpTo(u64),
    /// Damaged, of another version, or not borne out by the log: whoever asks next makes another one.
    Unusable,
}

/// A view and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The view's name.
    pub name: &'static str,
    /// Its file.
    pub condition: Condition,
}

/// What a view's file holds beside what the log comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The view's name.
    pub name: &'static str,
    /// The digest of a fold from event 1 to where the file stands.
    pub computed: String,
    /// The digest of the file.
    pub live: String,
}

/// How each of them is. Every page of a file that is not in use is looked at; one that is damaged is taken away.
pub fn all(instance: &Instance) -> Result<Vec<State>, ViewError> {
    let states = each(instance, &|instance, view| view.state(instance)).into_iter().collect();
    // It is told by what is returned.
    instance.views.take_damaged();
    states
}

/// Compares each file that there is with one that is made anew. One that differs is taken away: the next one who asks gets
/// what the log comes to.
pub fn compare(instance: &Instance, watch: Watch<'_>) -> Result<Vec<Compared>, ViewError> {
    let compared = each(instance, &|instance, view| view.compared(instance, watch));
    compared.into_iter().filter_map(Result::transpose).collect()
}

pub(super) fn of<V: Held>(instance: &Instance) -> Result<State, ViewError> {
    let condition = |file: &File| {
        Ok::<_, ViewError>(match judged::<V>(file, instance)? {
            Judged::Current(place) => Condition::UpTo(place.position),
            Judged::Older(_) | Judged::Not => Condition::Unusable,
        })
    };
    let path = path::<V>(instance, "redb");
    let open = V::slot(&instance.views).open();
    let condition = match (&*open, path.exists()) {
        (Some(file), true) => condition(file)?,
        (None, true) => match File::open(&path, true) {
            Ok(file) => condition(&file)?,
            Err(error) => {
                tracing::debug!(view = V::NAME, error = &error as &dyn std::error::Error, "a view is damaged");
                // Where it is too large to be looked at whenever it is opened, it would serve.
                file::remove(&path)?;
                Condition::Unusable
            }
        },
        (_, false) => Condition::Absent,
    };
    Ok(State { name: V::NAME, condition })
}

pub(super) fn compared<V: Held>(instance: &Instance, watch: Watch<'_>) -> Result<Option<Compared>, ViewError> {
    let _making = V::slot(&instance.views).making.lock().unwrap_or_else(PoisonError::into_inner);
    let file = {
        let mut open = V::slot(&instance.views).open();
        let Some(file) = opened::<V>(instance, &mut open) else { return Ok(None) };
        file
    };
    // One that is not believed anyway is nobody's.
    let Judged::Current(_) = judged::<V>(&file, instance)? else { return Ok(None) };
    let (live, place) = match file.digest() {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(view = V::NAME, error = &error as &dyn std::error::Error, "a view is damaged");
            (error.to_string(), file.place()?.unwrap_or_else(|| begin::<V>(instance)))
        }
    };
    let beside = path::<V>(instance, "redb.check");
    let computed = rebuilt::<V>(instance, &beside, &Head { size: place.position, head: place.head }, watch);
    file::remove(&beside)?;
    let computed = computed?;
    if computed != live {
        discard::<V>(instance)?;
    }
    Ok(Some(Compared { name: V::NAME, computed, live }))
}

/// The digest of a file that is made anew up to an event.
fn rebuilt<V: View>(
    instance: &Instance,
    path: &std::path::Path,
    end: &Head,
    watch: Watch<'_>,
) -> Result<String, ViewError> {
    let file = fresh(path)?;
    catch_up::<V>(&file, begin::<V>(instance), (instance, end), watch)?;
    Ok(file.digest()?.0)
}
