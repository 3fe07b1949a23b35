//! Random sequences of reversible acts through the real effects: after undo the tree is equal by names, bytes, modes and
//! times of files; undo of undo restores; what changed in between is refused item by item.
//!
//! Turns are planned, committed and reversed as the engine does it, on a real tree; cage and log are left out.
#![expect(clippy::unwrap_used, reason = "a test that meets something unexpected stops there")]

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use metnos::effects::commit::{Hands, Outcome, commit, key};
use metnos::effects::disk::named;
use metnos::effects::plan::{Around, Named, Planned, plan};
use metnos::effects::trash::Trash;
use metnos::effects::undo::{Refused, settle};
use metnos::signing::Keys;
use metnos_log::BlobHash;
use metnos_log::event::turn::{PlannedOp, Target};
use metnos_projections::machines::turn::Step;
use metnos_projections::rules::core_paths::OwnDirs;
use metnos_projections::rules::undo::reverse;
use serde_json::{Value, json};

const SEQUENCES: u64 = 500;
const CONFLICTS: u64 = 200;
const THREADS: u64 = 2;
const NAMES: [&[u8]; 9] = [
    b"a",
    b"b.txt",
    b"it's \"c\"",
    b"two\nlines",
    "caff\u{e8} \u{1f408}".as_bytes(),
    b"no\xfftext",
    b"e.tar.gz",
    b"-f",
    b"g",
];

/// Numbers by chance, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next()).unwrap() % most.max(1)
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// What is at a path: kind, mode, bytes or link, and of a file its time.
type Thing = (char, u32, Vec<u8>, Option<(i64, i64)>);

/// A tree of a person, with the keys and blobs that undo needs.
struct World {
    _scratch: tempfile::TempDir,
    root: PathBuf,
    keys: Keys,
    trash: Trash,
    blobs: HashMap<BlobHash, Vec<u8>>,
    turns: u64,
}

impl World {
    fn new(chance: &mut Chance) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let root = base.join("tree");
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(base.join("keys")).unwrap();
        let (keys, _) = Keys::open(&base.join("keys")).unwrap();
        let trash = Trash::new(&base, None);
        let world = Self { _scratch: scratch, root, keys, trash, blobs: HashMap::new(), turns: 0 };
        for _ in 0..4 + chance.below(8) {
            let path = world.somewhere(chance);
            match chance.below(5) {
                0 | 1 => drop(std::fs::create_dir(&path)),
                2 => drop(std::os::unix::fs::symlink("a", &path)),
                _ if path.symlink_metadata().is_err() => {
                    std::fs::write(&path, format!("was {}", chance.next())).unwrap();
                    let mode = *chance.one(&[0o644, 0o600, 0o640, 0o755, 0o444]);
                    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
                }
                _ => {}
            }
        }
        world
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.things().into_iter().filter(|(_, thing)| thing.0 == 'd').map(|(path, _)| path).collect()
    }

    /// A path in some folder of the tree; what is there, if anything, is left to chance.
    fn somewhere(&self, chance: &mut Chance) -> PathBuf {
        let mut folders = self.folders();
        folders.push(self.root.clone());
        let folder = chance.one(&folders).clone();
        folder.join(OsString::from_vec(chance.one(&NAMES).to_vec()))
    }

    /// The whole tree.
    fn things(&self) -> BTreeMap<PathBuf, Thing> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let mode = metadata.mode() & 0o7777;
                let thing = if metadata.is_dir() {
                    open.push(path.clone());
                    ('d', mode, Vec::new(), None)
                } else if metadata.is_symlink() {
                    ('l', 0, std::fs::read_link(&path).unwrap().into_os_string().into_vec(), None)
                } else {
                    let time = Some((metadata.mtime(), metadata.mtime_nsec()));
                    ('f', mode, std::fs::read(&path).unwrap(), time)
                };
                found.insert(path, thing);
            }
        }
        found
    }

    fn around<T>(&self, staged: &str, use_it: impl FnOnce(Around<'_>) -> T) -> T {
        let own = OwnDirs::default();
        use_it(Around {
            staged: &|_, _| Ok(staged.as_bytes().to_vec()),
            name_of: &|bytes| BlobHash(*blake3::hash(bytes).as_bytes()),
            keys: &self.keys,
            trash: &self.trash,
            home: "/nobody",
            own: &own,
            web: (&[], false),
            people: None,
        })
    }

    /// Commits what was planned, as a step whose turn can be undone.
    fn commit(&mut self, planned: Planned) -> Step {
        self.turns += 1;
        self.blobs.extend(planned.blobs);
        let mut step = Step { number: 1, ops: planned.ops.into(), ..Step::default() };
        let mut hands = Hands::default();
        for (index, op) in (0..).zip(step.ops.iter()) {
            if op.trouble.is_some() {
                step.committed.insert(index, op.trouble.clone());
                continue;
            }
            let bytes = self.bytes(op);
            let name = key(&format!("turn {}", self.turns), index);
            let outcome = commit(&mut hands, op, &bytes, &name);
            assert_eq!(again(op, &bytes, &name, &outcome), None, "{op:?}");
            let failure = match outcome {
                Outcome::Failed(class, reason) => Some((class, reason)),
                Outcome::Done | Outcome::FoundDone => None,
            };
            step.committed.insert(index, failure);
        }
        hands.settle().unwrap();
        step
    }

    fn bytes(&self, op: &PlannedOp) -> Vec<u8> {
        match (op.image, op.content) {
            (Some(image), _) => self.keys.unseal(&self.blobs[&image]).expect("it was sealed with these keys"),
            (None, Some(content)) => self.blobs[&content].clone(),
            (None, None) => Vec::new(),
        }
    }

    /// One turn of some acts on what chance names.
    fn act(&mut self, chance: &mut Chance) -> Step {
        let staged = format!("text {}\n", chance.next());
        let effects: Vec<Value> = (0..=chance.below(4)).map(|_| self.effect(chance)).collect();
        let targets: Vec<Target> = effects.iter().flat_map(targets_of).collect();
        let result = json!({ "ok": true, "effects": effects });
        let may = Named::new(&targets, &Value::Null);
        let planned = self.around(&staged, |around| plan(&result, &may, around));
        self.commit(planned)
    }

    fn effect(&self, chance: &mut Chance) -> Value {
        let things: Vec<PathBuf> = self.things().into_keys().collect();
        let existing = if things.is_empty() { self.root.join("none") } else { chance.one(&things).clone() };
        let fresh = self.somewhere(chance);
        let (existing, existing_b64) = named(&existing);
        let (fresh, fresh_b64) = named(&fresh);
        match chance.below(8) {
            0 => json!({ "op": "write", "path": fresh, "path_b64": fresh_b64, "from": "x", "if_exists": "replace" }),
            1 => json!({ "op": "append", "path": existing, "path_b64": existing_b64, "from": "x" }),
            2 => json!({ "op": "mkdir", "path": format!("{fresh}/deep"), "if_exists": "ok" }),
            3 | 4 => json!({
                "op": "move", "src": existing, "src_b64": existing_b64, "dst": fresh, "dst_b64": fresh_b64,
                "if_exists": chance.one(&["fail", "number", "replace"]),
            }),
            5 => json!({ "op": "delete", "path": existing, "path_b64": existing_b64, "to": "trash" }),
            6 => json!({ "op": "delete", "path": existing, "path_b64": existing_b64, "to": "nothing" }),
            _ => {
                json!({ "op": "set_mode", "path": existing, "path_b64": existing_b64, "mode": chance.one(&[0o600, 0o644, 0o700, 0o755]) })
            }
        }
    }

    /// Undoes the turn of a step; the undo is a step, too.
    fn undo(&mut self, step: &Step) -> (Step, Vec<Refused>) {
        let (planned, refused) = self.around("", |around| settle(reverse("T", std::slice::from_ref(step)), around));
        (self.commit(planned), refused)
    }

    #[track_caller]
    fn is(&self, expected: &BTreeMap<PathBuf, Thing>, what: &str) {
        let found = self.things();
        for (path, thing) in expected {
            assert_eq!(found.get(path), Some(thing), "{what}: {}", path.display());
        }
        let more: Vec<&PathBuf> = found.keys().filter(|path| !expected.contains_key(*path)).collect();
        assert!(more.is_empty(), "{what}: {more:?}");
    }
}

/// A change that was made is found made when it is tried again, as recovery does; what it says otherwise.
fn again(op: &PlannedOp, bytes: &[u8], name: &str, first: &Outcome) -> Option<Outcome> {
    // A mode that was set is not told from one that is the same; adding a byte twice would be.
    let told = matches!(op.op.as_str(), "append" | "write" | "move" | "restore" | "mkdir" | "delete" | "link");
    if *first != Outcome::Done || !told || op.after.is_some_and(|after| Some(after) == op.before.hash) {
        return None;
    }
    let again = commit(&mut Hands::again(true), op, bytes, name);
    (again != Outcome::FoundDone).then_some(again)
}

fn targets_of(effect: &Value) -> Vec<Target> {
    let target = |key: &str| {
        let canonical = effect[key].as_str()?.to_owned();
        Some(Target {
            pointer: format!("/{key}"),
            role: "target_path".to_owned(),
            given: canonical.clone(),
            canonical,
            canonical_b64: effect[&format!("{key}_b64")].as_str().map(str::to_owned),
            kind: "file".to_owned(),
            trouble: None,
        })
    };
    ["path", "src", "dst"].into_iter().filter_map(target).collect()
}

/// What of a step can be taken back in principle and was made.
fn made(step: &Step) -> usize {
    step.committed.values().filter(|failure| failure.is_none()).count()
}

fn all_made(step: &Step, what: &str) {
    for (index, failure) in &step.committed {
        assert_eq!(failure, &None, "{what}: {:?}", step.ops[usize::try_from(*index).unwrap()]);
    }
}

/// One sequence: some turns, undone from the last to the first, every other one redone and undone again in between.
fn sequence(seed: u64) -> (usize, usize) {
    let chance = &mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995);
    let mut world = World::new(chance);
    let mut turns = Vec::new();
    for _ in 0..=chance.below(6) {
        let before = world.things();
        let step = world.act(chance);
        turns.push((before, step, world.things()));
    }
    let mut changes = 0;
    for (number, (before, step, after)) in turns.iter().enumerate().rev() {
        let what = format!("sequence {seed}, turn {number}");
        changes += made(step);
        let (undone, refused) = world.undo(step);
        assert_eq!(refused, [], "{what}");
        all_made(&undone, &what);
        world.is(before, &format!("{what} undone"));
        if chance.below(2) == 0 {
            let (redone, refused) = world.undo(&undone);
            assert_eq!(refused, [], "{what} redone");
            all_made(&redone, &what);
            world.is(after, &format!("{what} redone"));
            let (again, refused) = world.undo(&redone);
            assert_eq!(refused, [], "{what} undone again");
            all_made(&again, &what);
            world.is(before, &format!("{what} undone again"));
        }
    }
    (turns.len(), changes)
}

#[test]
fn five_hundred_random_sequences_are_undone_and_redone() {
    let parts: Vec<_> = (0..THREADS)
        .map(|part| {
            std::thread::spawn(move || {
                (0..SEQUENCES)
                    .filter(|seed| seed % THREADS == part)
                    .map(sequence)
                    .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
            })
        })
        .collect();
    let sums = parts.into_iter().map(|part| part.join().expect("a part that fails has said why"));
    let (turns, changes) = sums.fold((0, 0), |sum: (usize, usize), one| (sum.0 + one.0, sum.1 + one.1));
    eprintln!("{SEQUENCES} sequences, {turns} turns, {changes} changes undone");
    assert!(changes > 1000, "the sequences did too little to prove anything: {changes}");
}

/// Independent changes of one turn; some of their targets are changed afterwards.
#[test]
fn what_changed_since_is_refused_item_by_item() {
    let mut all_refused = 0;
    for seed in 0..CONFLICTS {
        let chance = &mut Chance(seed ^ 0xdead_beef);
        let mut world = World::new(&mut Chance(0));
        for thing in world.things().keys().filter(|path| path.parent() == Some(&world.root)) {
            if thing.is_dir() && !thing.is_symlink() {
                std::fs::remove_dir_all(thing).unwrap();
            } else {
                std::fs::remove_file(thing).unwrap();
            }
        }
        let files: Vec<PathBuf> =
            NAMES.iter().map(|name| world.root.join(OsString::from_vec([b"x", *name].concat()))).collect();
        for path in &files {
            std::fs::write(path, "before").unwrap();
        }
        let before = world.things();
        let (effects, ends): (Vec<Value>, Vec<PathBuf>) = files.iter().map(|path| independent(chance, path)).unzip();
        let targets: Vec<Target> = effects.iter().flat_map(targets_of).collect();
        let result = json!({ "ok": true, "effects": effects });
        let may = Named::new(&targets, &Value::Null);
        let planned = world.around("after", |around| plan(&result, &may, around));
        let step = world.commit(planned);
        all_made(&step, "independent changes");
        let mut tampered = BTreeMap::new();
        for (path, end) in files.iter().zip(&ends) {
            if chance.below(3) == 0 {
                std::fs::write(end, "someone else's").unwrap();
                tampered.insert(path.clone(), end.clone());
            }
        }
        let (undone, refused) = world.undo(&step);
        all_made(&undone, "the rest of an undo");
        assert_eq!(refused.len(), tampered.len(), "seed {seed}: {refused:?}");
        all_refused += refused.len();
        assert!(refused.iter().all(|refused| refused.class == "target_changed" && !refused.reason.is_empty()));
        for (path, thing) in &before {
            match tampered.get(path) {
                None => assert_eq!(world.things().get(path), Some(thing), "seed {seed}: {}", path.display()),
                Some(end) => assert_eq!(std::fs::read(end).unwrap(), b"someone else's", "seed {seed}"),
            }
        }
    }
    assert!(all_refused > 100, "{all_refused}");
}

/// A change of one file alone, and where its result can be tampered with.
fn independent(chance: &mut Chance, path: &Path) -> (Value, PathBuf) {
    let moved = path.with_file_name(OsString::from_vec([b"moved ", path.file_name().unwrap().as_bytes()].concat()));
    let (text, b64) = named(path);
    let (dst, dst_b64) = named(&moved);
    match chance.below(4) {
        0 => (
            json!({ "op": "write", "path": text, "path_b64": b64, "from": "x", "if_exists": "replace" }),
            path.to_owned(),
        ),
        1 => (json!({ "op": "append", "path": text, "path_b64": b64, "from": "x" }), path.to_owned()),
        2 => (json!({ "op": "move", "src": text, "src_b64": b64, "dst": dst, "dst_b64": dst_b64 }), moved),
        _ => (
            json!({ "op": "delete", "path": text, "path_b64": b64, "to": *chance.one(&["trash", "nothing"]) }),
            path.to_owned(),
        ),
    }
}
