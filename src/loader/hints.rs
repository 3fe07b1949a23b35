//! Judges the folders that a manifest asks for before anything is signed: by their names, and by where those lead on this
//! machine.
//!
//! What is refused here is hidden at every call as well, since links change and other machines have other folders; here it is
//! said while the manifest can still be changed, with the line that says it.

use std::path::{Path, PathBuf};

use metnos_projections::manifest::{Capability, Manifest};
use metnos_projections::rules::cage_plan::{self, Places};
use metnos_projections::rules::core_paths::{self, OwnDirs};
use metnos_projections::visible;

use super::{InstallError, Source};
use crate::broker::target;
use crate::gateway::own::OwnFolders;
use crate::instance::Instance;
use crate::located::Located;
use crate::sandbox::binaries;

/// What is said of programs that are not listed.
const PROGRAMS: &str =
    "it asks to run whatever it likes: list the programs, by their names or absolute paths, without globs";

/// What is said of one that others made, and that says it came with Metnos.
const NO_SEED: &str = "`seed` is what came with Metnos says: write `owner` here";
/// What is said of one that others made, and that would administer the machine.
const ADMINISTERS: &str = "it asks to administer this machine, which no executor gets that did not come with Metnos: leave this capability out";

/// What a manifest is held against.
struct Ground {
    places: Places,
    own: OwnDirs,
    /// The same folders and the signed executors, as they are named and where they are.
    folders: OwnFolders,
    /// Whether these are folders of this machine, so that links can be followed.
    is_real: bool,
}

/// What is wrong with a value of a manifest, with the line that says it.
pub(super) fn at_value(source: &Source, (section, key): (&str, &str), message: &str) -> InstallError {
    let text = &source.manifest;
    let span = |document: toml_edit::Document<&str>| document.get(section)?.get(key)?.span();
    let span = toml_edit::Document::parse(text.as_str()).ok().and_then(span).unwrap_or_default();
    Located::at(&source.label("manifest.toml"), text, span.start, message).into()
}

/// Refuses the name of a builtin: what is added under it would be called in its place for good.
pub(super) fn no_builtin(source: &Source, manifest: &Manifest) -> Result<(), InstallError> {
    let name = &manifest.executor.name;
    if crate::builtins::find(name).is_none() {
        return Ok(());
    }
    Err(at_value(source, ("executor", "name"), &format!("{name} is the name of a builtin: choose another")))
}

/// Refuses what only executors that the binary carries may say or ask for.
pub(super) fn of_others(source: &Source, manifest: &Manifest) -> Result<(), InstallError> {
    if manifest.executor.created_by == super::lost::SEED {
        return Err(at_value(source, ("executor", "created_by"), NO_SEED));
    }
    let administers = |capability: &Capability| capability.name == "system:admin";
    let Some(number) = manifest.capabilities.iter().position(administers) else { return Ok(()) };
    let text = &source.manifest;
    let offset = start_of(text, number).unwrap_or_default();
    Err(Located::at(&source.label("manifest.toml"), text, offset, ADMINISTERS).into())
}

/// Refuses other names that something here is called by already, or that are none.
fn no_foreign_alias(instance: &Instance, source: &Source, manifest: &Manifest) -> Result<(), InstallError> {
    let own = &manifest.executor.name;
    let catalog = instance.catalog();
    let is_plain = |alias: &str| {
        !alias.is_empty()
            && alias.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let fault = manifest.executor.aliases.iter().find_map(|alias| {
        let found = catalog.find(alias).map(|(name, _)| name.to_owned()).filter(|name| name != own);
        let found = found.or_else(|| crate::builtins::find(alias).map(|_| alias.clone()));
        match found {
            Some(name) => Some(format!("«{}» is a name of {name} already: leave it out", visible::quoted(alias))),
            None if !is_plain(alias) => {
                Some(format!("«{}» is no name: write it in small letters, digits and «_»", visible::quoted(alias)))
            }
            None => None,
        }
    });
    fault.map_or(Ok(()), |message| Err(at_value(source, ("executor", "aliases"), &message)))
}

/// Refuses what no machine grants.
pub(super) fn by_name(source: &Source, manifest: &Manifest) -> Result<(), InstallError> {
    let places = Places { home: "/home".to_owned(), workspace: "/w".to_owned(), runtime: "/r".to_owned() };
    let (own, folders) = (OwnDirs::default(), OwnFolders::default());
    judge(source, manifest, &Ground { places, own, folders, is_real: false })
}

/// Refuses what this instance does not grant: its own folders, and what a link leads to.
pub(super) fn here(instance: &Instance, source: &Source, manifest: &Manifest) -> Result<(), InstallError> {
    let text = |path: &Path| real(path).to_string_lossy().into_owned();
    let dirs = &instance.dirs;
    let places = Places { home: text(&dirs.user_home), workspace: text(&dirs.workspace), runtime: text(&dirs.runtime) };
    let own = dirs.own();
    let folders = OwnFolders::new(&own, &dirs.workspace.to_string_lossy());
    let text = |path: &str| real(Path::new(path)).to_string_lossy().into_owned();
    let own = OwnDirs { config: text(&own.config), data: text(&own.data), audit: text(&own.audit) };
    no_foreign_alias(instance, source, manifest)?;
    judge(source, manifest, &Ground { places, own, folders, is_real: true })
}

fn judge(source: &Source, manifest: &Manifest, ground: &Ground) -> Result<(), InstallError> {
    for (number, capability) in manifest.capabilities.iter().enumerate() {
        if capability.name == "code:exec" && capability.hint.is_empty() {
            let text = &source.manifest;
            let offset = start_of(text, number).unwrap_or_default();
            return Err(Located::at(&source.label("manifest.toml"), text, offset, PROGRAMS).into());
        }
        for (place, glob) in capability.except.iter().enumerate() {
            if let Some(message) = no_exception(glob) {
                let (label, text) = (source.label("manifest.toml"), &source.manifest);
                let offset = offset(text, number, "except", place).unwrap_or_default();
                return Err(Located::at(&label, text, offset, &message).into());
            }
        }
        for (place, hint) in capability.hint.iter().enumerate() {
            if let Some(message) = fault(capability, hint, ground) {
                let (label, text) = (source.label("manifest.toml"), &source.manifest);
                let offset = offset(text, number, "hint", place).unwrap_or_default();
                return Err(Located::at(&label, text, offset, &message).into());
            }
        }
    }
    Ok(())
}

/// The byte at which one of a list of a capability stands.
fn offset(text: &str, capability: usize, list: &str, place: usize) -> Option<usize> {
    let document = toml_edit::Document::parse(text).ok()?;
    let hints = document.get("capabilities")?.get(capability)?.get(list)?;
    Some(hints.get(place)?.span()?.start)
}

/// The byte at which a capability is named.
fn start_of(text: &str, capability: usize) -> Option<usize> {
    let document = toml_edit::Document::parse(text).ok()?;
    Some(document.get("capabilities")?.get(capability)?.get("name")?.span()?.start)
}

/// Whether a hint names one program: by its name, or by an absolute path.
fn is_program(hint: &str) -> bool {
    let is_plain = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
    };
    hint.strip_prefix('/').map_or_else(|| is_plain(hint), |path| path.split('/').all(is_plain))
}

/// Why a hint is refused.
fn fault(capability: &Capability, hint: &str, ground: &Ground) -> Option<String> {
    let changes = match capability.name.as_str() {
        "fs:read" => false,
        "fs:write" => true,
        "code:exec" if !is_program(hint) => return Some(PROGRAMS.to_owned()),
        "code:exec" if hint.starts_with('/') && !binaries::is_of_the_system(Path::new(hint)) => {
            let folders = binaries::SYSTEM.join(", ");
            return Some(format!(
                "it asks to run «{hint}»: a program that is named with its place lies below {folders}"
            ));
        }
        "network:http" | "network:sites" => return no_host(capability, hint),
        _ => return None,
    };
    let path = cage_plan::folder(hint);
    if path == cage_plan::ARGS {
        return None;
    }
    let shown = path.replacen("{home}", "~", 1);
    // The whole folder is opened: what names a part of it says what is not so.
    let below = hint.strip_suffix("/**").or_else(|| hint.strip_suffix("/*")).unwrap_or(hint);
    if below.contains(['{', '}']) && !below.starts_with('{') || below.matches('{').count() > 1 {
        return Some(format!("it asks for «{}», and braces are no pattern: name each folder", visible::quoted(hint)));
    }
    if below.contains(['*', '?', '[', ']']) && path == "/" {
        return Some(format!("it asks for «{}», which would be all there is: name a folder", visible::quoted(hint)));
    }
    if below.contains(['*', '?', '[', ']']) {
        let hint = visible::quoted(hint);
        return Some(format!(
            "it asks for «{hint}», and would get all of «{shown}»: write «{shown}/**», or a folder below it"
        ));
    }
    if let Some(why) = no_place(&path) {
        return Some(format!("it asks for «{shown}», which {why}"));
    }
    let named = ground.places.resolve(&path);
    if let Some(rule) = refused(&named, changes, ground) {
        return Some(format!("it asks for «{shown}», which no executor gets ({rule})"));
    }
    let leads = if ground.is_real { real(Path::new(&named)).to_string_lossy().into_owned() } else { named.clone() };
    if let Some(rule) = refused(&leads, changes, ground) {
        return Some(format!("it asks for «{shown}», which leads to «{leads}», and that no executor gets ({rule})"));
    }
    let is_whole = path == "{home}" || ground.is_real && core_paths::is_within(&ground.places.home, &leads);
    // What is read of it is masked where it is closed, and what an argument names is a part of it.
    if !changes || !capability.from_args.is_empty() {
        return None;
    }
    if is_whole {
        return Some("it asks to change all of ~, which no executor gets: name a folder below it".to_owned());
    }
    if [&named, &leads].iter().any(|path| core_paths::holds_forbidden_names(path)) {
        return Some(format!("it asks to change all of «{shown}», which is there for what no executor sees"));
    }
    let is_open = [named.as_str(), leads.as_str()].iter().any(|path| ground.folders.are_open_with(Path::new(path)));
    is_open.then(|| {
        format!(
            "it asks to change all of «{shown}», where Metnos itself lies: name a folder that holds none of its own"
        )
    })
}

/// Why a hint names no host that could be granted.
fn no_host(capability: &Capability, hint: &str) -> Option<String> {
    let shown = visible::quoted(hint);
    if hint == cage_plan::ARGS {
        let why = "says that its arguments name the hosts, and from_args names none of them";
        return capability.from_args.is_empty().then(|| format!("«{shown}» {why}"));
    }
    if let Some(why) = target::fault_of_pattern(hint) {
        return Some(format!("«{shown}» {why}"));
    }
    let host = target::grant_for_pattern(hint).map(|grant| grant.pattern).unwrap_or_default();
    target::is_nobodys(&host).then(|| format!("it asks for «{shown}», which no executor gets"))
}

/// The core rule against a path.
fn refused(path: &str, changes: bool, ground: &Ground) -> Option<&'static str> {
    let rule = core_paths::forbidden(path, &ground.places.home, &ground.own);
    // Everything there is nobody sees either.
    rule.or_else(|| (changes || path == "/").then(|| core_paths::protected_from_change(path)).flatten())
}

/// Why a path of a manifest names no folder that could be granted.
fn no_place(path: &str) -> Option<&'static str> {
    if path.split('/').any(|segment| segment == ".." || segment == ".") {
        return Some("does not say where it leads: write it without «.» and «..»");
    }
    if path.trim() != path || path.contains("//") || path.len() > 1 && path.ends_with('/') {
        return Some("is not written as paths are compared: without spaces around it, «//» and a slash at its end");
    }
    if path.starts_with('{') {
        let is_known = Places::SYMBOLS
            .iter()
            .any(|known| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        return (!is_known).then_some("begins with no symbol that there is: {home}, {workspace} and {runtime}");
    }
    if !path.starts_with('/') {
        return Some("is no absolute path: begin it with «/» or «~/»");
    }
    path.trim_matches('/').is_empty().then_some("is everything, and that no executor gets: name a folder")
}

/// Why a glob takes nothing out: it is not written as paths are compared.
fn no_exception(glob: &str) -> Option<String> {
    let whole = glob.strip_suffix("/**").unwrap_or(glob);
    let path = cage_plan::symbolic_home(whole);
    let why = no_place(&path).or_else(|| {
        let rest =
            path.strip_prefix('{').map_or(path.as_str(), |path| path.split_once('}').map_or("", |(_, rest)| rest));
        rest.contains(['[', ']', '{', '}', '$'])
            .then_some("holds signs that stand for nothing there: «*», «?» and «**» do")
    })?;
    Some(format!("its exception «{}» {why}", visible::quoted(glob)))
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    there.map_or_else(
        || path.to_owned(),
        |(there, rest)| if rest.as_os_str().is_empty() { there } else { there.join(rest) },
    )
}
