//! The seed executors that the binary carries, laid out, born, signed and activated at the first run.

use include_dir::{Dir, include_dir};
use metnos_log::event::executor::LifeCycle;

use super::{InstallError, Source, install, lost};
use crate::instance::Instance;

static SEEDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/executors");

/// What became of one seed.
pub struct Laid {
    /// Its name.
    pub name: String,
    /// How many birth cases passed, or why it is not active.
    pub outcome: Result<usize, InstallError>,
}

/// Installs every seed version that the log does not have yet, or whose files it has lost. A seed that is quarantined for anything
/// else is left where it is.
pub fn install_missing(instance: &Instance) -> Vec<Laid> {
    let mut laid = Vec::new();
    for folder in SEEDS.dirs() {
        let name = folder.path().to_string_lossy().into_owned();
        let Some(source) = Source::embedded(folder) else { continue };
        if !is_missing(instance, &name, &source) {
            continue;
        }
        let outcome = install(instance, source, "first run").map(|birth| birth.cases.len());
        laid.push(Laid { name, outcome });
    }
    laid
}

fn is_missing(instance: &Instance, name: &str, source: &Source) -> bool {
    let catalog = instance.catalog();
    let Some(entry) = catalog.executors.get(name) else { return true };
    if lost::is_lost_seed(instance, entry).unwrap_or(false) {
        return true;
    }
    entry.life == LifeCycle::Active
        && version(&source.manifest).is_some_and(|version| !entry.versions.contains_key(version))
}

/// The version that a seed's manifest names, read off its line: this is looked at by every command, and parsing all manifests
/// takes longer than most of these.
fn version(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::super::candidate;
    use super::*;

    #[test]
    fn the_version_of_each_seed_is_read_as_its_manifest_has_it() {
        assert!(SEEDS.dirs().count() > 0);
        for folder in SEEDS.dirs() {
            let source = Source::embedded(folder).unwrap();
            let parsed = candidate(source.clone()).unwrap().loaded.version;
            assert_eq!(version(&source.manifest), Some(parsed.as_str()), "{}", folder.path().display());
        }
    }
}
