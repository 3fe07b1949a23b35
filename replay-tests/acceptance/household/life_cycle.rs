//! Executors put away and brought back: every move is on record, and whatever came back was checked and signed anew.

use std::path::{Path, PathBuf};

use super::home::{Home, Ran, copy_seed};

fn executor(home: &Home, words: &[&str]) -> Ran {
    home.run(["--yes", "executor"].iter().chain(words))
}

/// The folder of a seed, to be changed.
fn copied(home: &Home, name: &str) -> PathBuf {
    let folder = home.files().join(name);
    copy_seed("get_now", &folder);
    folder
}

#[track_caller]
fn stands(home: &Home, name: &str, state: &str) {
    let shown = home.run(["--json", "executor", "show", name]).json();
    assert_eq!(shown["state"], state, "{shown}");
}

#[track_caller]
fn answers(home: &Home, expected: bool) {
    let ran = home.run(["--json", "executor", "run", "get_now"]);
    assert_eq!(ran.code == 0, expected, "{} {}", ran.out, ran.err);
}

#[test]
fn what_is_archived_is_not_called_and_comes_back() {
    let home = Home::new();
    let folder = home.metnos().join("workspace/executors");
    answers(&home, true);
    assert_eq!(executor(&home, &["archive", "get_now", "--reason", "not needed"]).code, 0);
    stands(&home, "get_now", "archived");
    assert!(!folder.join("get_now").exists() && folder.join(".archive/get_now/1.0.0/main.py").exists());
    answers(&home, false);
    assert_ne!(home.ask("what time is it").code, 0);
    for words in [["archive", "get_now"], ["approve", "get_now"], ["defuse", "get_now"], ["archive", "get_processes"]] {
        let refused = executor(&home, &words);
        assert_eq!(refused.code, 1, "{words:?}: {}", refused.err);
        assert!(refused.err.contains("metnos executor list"), "{}", refused.err);
    }
    let unsaid = home.run(["executor", "rehabilitate", "get_now"]);
    assert_eq!(unsaid.code, 3, "{}", unsaid.err);
    assert!(unsaid.err.contains("not needed") && unsaid.err.contains("time:read"), "{}", unsaid.err);
    assert_eq!(executor(&home, &["rehabilitate", "get_now"]).code, 0);
    assert!(folder.join("get_now/1.0.0/main.py").exists() && !folder.join(".archive/get_now").exists());
    answers(&home, true);
    assert_eq!(home.ask("what time is it").code, 0);
    let history = home.run(["executor", "history", "get_now", "--calls"]).out;
    for said in
        ["not needed", "to below_threshold", "to archived", "to active (owner)", "called     1.0.0", "4 calls in all"]
    {
        assert!(history.contains(said), "{said}: {history}");
    }
    home.is_whole();
}

#[test]
fn what_was_tampered_with_is_approved_as_the_log_holds_it() {
    let home = Home::new();
    let path = home.metnos().join("workspace/executors/get_now/1.0.0/main.py");
    let signed = std::fs::read(&path).unwrap();
    std::fs::write(&path, "def run(args, ctx):\n    return {'ok': True, 'content': 'forged'}\n").unwrap();
    answers(&home, false);
    stands(&home, "get_now", "quarantined");
    assert_eq!(executor(&home, &["approve", "get_now"]).code, 0);
    assert_eq!(std::fs::read(&path).unwrap(), signed);
    answers(&home, true);
    assert_eq!(executor(&home, &["quarantine", "get_now"]).code, 0);
    answers(&home, false);
    home.is_whole();
}

/// What stands in the place of a file is never waited for or read to its end, and a link is not the file that it leads to.
#[test]
fn what_is_no_file_is_tampered_with() {
    let home = Home::new();
    let path = home.metnos().join("workspace/executors/get_now/1.0.0/main.py");
    let same = home.files().join("same.py");
    std::fs::copy(&path, &same).unwrap();
    let fifo = |path: &Path| {
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, rustix::fs::Mode::RUSR, 0).unwrap();
    };
    let link = |to: &Path| std::os::unix::fs::symlink(to, &path).unwrap();
    for stands_there in [&(|| fifo(&path)) as &dyn Fn(), &|| link(Path::new("/dev/zero")), &|| link(&same)] {
        answers(&home, true);
        std::fs::remove_file(&path).unwrap();
        stands_there();
        answers(&home, false);
        stands(&home, "get_now", "quarantined");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(executor(&home, &["approve", "get_now"]).code, 0);
    }
    // The same of the folders: what a link leads to may be just what was signed, and change at any time.
    let executor_folder = path.parent().unwrap().parent().unwrap().to_owned();
    for part in ["1.0.0", "1.0.0/tests", ""] {
        let (place, away) = (executor_folder.join(part), home.files().join("away"));
        let place = place.components().collect::<PathBuf>();
        answers(&home, true);
        std::fs::rename(&place, &away).unwrap();
        std::os::unix::fs::symlink(&away, &place).unwrap();
        answers(&home, false);
        stands(&home, "get_now", "quarantined");
        assert_eq!(executor(&home, &["approve", "get_now"]).code, 0, "{part}");
        assert!(!place.is_symlink() && path.is_file() && away.is_dir(), "{part}");
        answers(&home, true);
        std::fs::remove_dir_all(&away).unwrap();
    }
    // The same of a folder that is not signed yet.
    let folder = copied(&home, "mine");
    for stands_there in [&(|| fifo(&folder.join("main.py"))) as &dyn Fn(), &|| {
        std::os::unix::fs::symlink("/dev/zero", folder.join("main.py")).unwrap();
    }] {
        std::fs::remove_file(folder.join("main.py")).unwrap();
        stands_there();
        let checked = home.run(["executor", "check", folder.to_str().unwrap()]);
        assert!(checked.code != 0 && checked.err.contains("main.py"), "{} {}", checked.out, checked.err);
    }
    home.is_whole();
}

/// What a link led to was signed, wherever that lay: whoever looked through the folder had not seen it.
#[test]
fn a_link_in_a_folder_is_not_followed() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    for name in ["manifest.toml", "main.py", "schema.json", "tests/birth.py", "tests", "manifest.sig"] {
        let (place, away) = (folder.join(name), home.files().join("away"));
        if !place.exists() {
            std::fs::write(&place, "no signature").unwrap();
        }
        std::fs::rename(&place, &away).unwrap();
        std::os::unix::fs::symlink(&away, &place).unwrap();
        for act in ["check", "add"] {
            let ran = executor(&home, &[act, folder.to_str().unwrap()]);
            let says = format!("{} is a link: copy the file itself", place.display());
            assert!(ran.code == 1 && ran.err.contains(&says), "{act} {name}: {} {}", ran.out, ran.err);
            assert!(ran.err.contains("hint: "), "{}", ran.err);
        }
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&away, &place).unwrap();
    }
    std::fs::remove_file(folder.join("manifest.sig")).unwrap();
    let beside = home.files().join("beside");
    std::os::unix::fs::symlink(&folder, &beside).unwrap();
    assert_eq!(
        executor(&home, &["check", beside.to_str().unwrap()]).code,
        0,
        "the folder itself may be named by a link"
    );
}

/// Lets the manifest in a folder ask for more, as its last capability.
fn ask_for(folder: &Path, plain: &str, capability: &str) {
    assert!(plain.contains("\n[presentation]"));
    let asked = format!("\n[[capabilities]]\n{capability}\n\n[presentation]");
    std::fs::write(folder.join("manifest.toml"), plain.replacen("\n[presentation]", &asked, 1)).unwrap();
}

/// They were taken, and hidden at each call only.
#[test]
fn a_manifest_does_not_ask_for_what_this_instance_hides() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    std::fs::create_dir_all(home.files().join(".ssh")).unwrap();
    std::fs::create_dir_all(home.files().join("notes")).unwrap();
    std::os::unix::fs::symlink(".ssh", home.files().join("plain")).unwrap();
    std::os::unix::fs::symlink(home.metnos().join("data"), home.files().join("deep")).unwrap();
    std::os::unix::fs::symlink(".", home.files().join("same")).unwrap();
    std::os::unix::fs::symlink(home.metnos(), home.files().join("inst")).unwrap();
    let own = |name: &str| home.metnos().join(name).display().to_string();
    let taken = |capability: &str| {
        ask_for(&folder, &plain, capability);
        home.run(["executor", "check", folder.to_str().unwrap()])
    };
    let (both, changes) = (&["fs:read", "fs:write"][..], &["fs:write"][..]);
    for (names, hint, says) in [
        (both, own("config/**"), "which no executor gets (own_config)"),
        (both, own("config/keys/instance.ed25519"), "which no executor gets (own_config)"),
        (both, own("data"), "which no executor gets (own_data)"),
        (both, "{workspace}/.audit/**".to_owned(), "which no executor gets (own_audit)"),
        (both, "~/plain/**".to_owned(), "and that no executor gets (ssh_keys)"),
        (both, "~/plain/id".to_owned(), "and that no executor gets (ssh_keys)"),
        (both, "~/deep/log/**".to_owned(), "and that no executor gets (own_data)"),
        (changes, "~/.kube/**".to_owned(), "which is there for what no executor sees"),
        (changes, "~/.config/*".to_owned(), "which is there for what no executor sees"),
        (changes, own("**"), "where Metnos itself lies"),
        (changes, own("workspace/**"), "where Metnos itself lies"),
        (changes, own("workspace/executors/get_now/**"), "where Metnos itself lies"),
        (changes, "{workspace}/**".to_owned(), "where Metnos itself lies"),
        (changes, "~/inst/**".to_owned(), "where Metnos itself lies"),
        (changes, "~/**".to_owned(), "all of ~"),
        (changes, "~".to_owned(), "all of ~"),
        (changes, "~/same/**".to_owned(), "all of ~"),
        (changes, home.files().join("*").display().to_string(), "all of ~"),
    ] {
        for name in names {
            let checked = taken(&format!("name = \"{name}\"\nhint = [\"~/notes/**\",\n  \"{hint}\"]"));
            let place = checked.err.split("manifest.toml:").nth(1).unwrap_or_default();
            assert!(
                checked.code == 1 && place.contains(":3: ") && place.contains(says),
                "{name} {hint}: {}",
                checked.err
            );
            assert!(
                place.contains(&format!("|   \"{hint}\"]\n")) && place.contains("|   ^"),
                "{name} {hint}: {}",
                checked.err
            );
        }
    }
    let added = executor(&home, &["add", folder.to_str().unwrap()]);
    assert!(added.code == 1 && added.err.contains("all of ~"), "{} {}", added.out, added.err);
    // What lies open below the home may be read: the rest of it is masked in the cage.
    for hint in ["[\"~/notes/**\", \"{workspace}/inbox/**\", \"~/none/yet\"]", "[\"~/**\"]"] {
        let checked = taken(&format!("name = \"fs:read\"\nhint = {hint}"));
        assert_eq!(checked.code, 0, "{hint}: {} {}", checked.out, checked.err);
    }
    home.is_whole();
}

/// Whoever added one got rid of the builtin for good.
#[test]
fn the_name_of_a_builtin_is_not_taken() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    for name in ["get_processes", "send_messages"] {
        std::fs::write(folder.join("manifest.toml"), plain.replace("get_now", name)).unwrap();
        for act in ["check", "add"] {
            let ran = executor(&home, &[act, folder.to_str().unwrap()]);
            let is_said = ran.err.contains("manifest.toml:2:") && ran.err.contains("is the name of a builtin");
            assert!(ran.code == 1 && is_said, "{act} {name}: {} {}", ran.out, ran.err);
        }
    }
    home.is_whole();
}

/// A folder from outside was taken as one that came with Metnos, and its owner was asked to let it administer the machine, or
/// to sign that it did.
#[test]
fn what_only_comes_with_metnos_is_not_added() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap().replace("get_now", "get_now_too");
    let refused = |says: &str, line: &str| {
        for act in ["check", "add", "sign"] {
            let ran = executor(&home, &[act, folder.to_str().unwrap()]);
            let is_said = [says, line, "manifest.toml:", "hint: "].iter().all(|part| ran.err.contains(part));
            assert!(ran.code == 1 && is_said, "{act}: {} {}", ran.out, ran.err);
        }
    };
    std::fs::write(folder.join("manifest.toml"), plain.replacen("\"owner\"", "\"seed\"", 1)).unwrap();
    refused("`seed` is what came with Metnos says: write `owner` here", "created_by = \"seed\"");
    ask_for(&folder, &plain, "name = \"system:admin\"");
    refused("it asks to administer this machine", "name = \"system:admin\"");
    std::fs::write(folder.join("manifest.toml"), &plain).unwrap();
    assert_eq!(executor(&home, &["add", folder.to_str().unwrap()]).code, 0);
    home.is_whole();
}

#[test]
fn the_question_of_adding_one_says_what_it_replaces() {
    let home = Home::new();
    let folder = copied(&home, "newer");
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    std::fs::write(folder.join("manifest.toml"), manifest.replacen("1.0.0", "1.1.0", 1)).unwrap();
    let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
    let says = "It replaces get_now 1.0.0, which `metnos executor promote get_now 1.0.0` brings back.";
    assert!(asked.code == 3 && asked.err.contains(says), "{} {}", asked.code, asked.err);
    // Nobody was there to be asked, and nothing went wrong.
    let is_question = asked.err.contains("question: I would add get_now 1.1.0.") && asked.err.contains("hint: answer");
    assert!(is_question && !asked.err.contains("error:"), "{}", asked.err);
    std::fs::write(folder.join("manifest.toml"), manifest.replace("get_now", "get_now_too")).unwrap();
    let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
    assert!(asked.code == 3 && !asked.err.contains("replaces"), "{} {}", asked.code, asked.err);
}

/// It was said of all of them that they change nothing.
#[test]
fn the_question_of_adding_one_says_what_cannot_be_taken_back() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap().replace("get_now", "get_now_too");
    let acting = plain.replace("side_effects = false", "side_effects = true");
    assert_ne!(plain, acting);
    for (manifest, capability, says) in [
        (&plain, "name = \"code:exec\"\nhint = [\"date\", \"/usr/bin/wc\"]", "It runs programs (date, /usr/bin/wc). "),
        (&plain, "name = \"mail:send\"", "It sends mail. "),
        (&plain, "name = \"mail:write\"", "It changes mail. "),
        (&plain, "name = \"drive:permissions\"", "It changes who sees shared files. "),
        // Of what it does in both ways it is said which can be taken back.
        (
            &acting,
            "name = \"network:http\"\nhint = [\"example.org\"]",
            "as far as the question says. The rest it does by itself: It sends data to servers. That cannot",
        ),
        (&acting, "name = \"mail:send\"", "The rest it does by itself: It sends mail. That cannot"),
    ] {
        ask_for(&folder, manifest, capability);
        let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
        let is_said = asked.err.contains(says) && asked.err.contains("That cannot be taken back.");
        assert!(asked.code == 3 && is_said, "{capability}: {}", asked.err);
        assert!(!asked.err.contains("It changes nothing"), "{capability}: {}", asked.err);
    }
    ask_for(&folder, &plain, "name = \"channel:out\"");
    let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
    let says = format!(
        "What it wants changed or said to people is asked about and done by me, so it can be taken back as far as the \
         question says. A message that was sent stays sent. All of it comes from {}. `metnos executor archive \
         get_now_too` puts it away again. May I?",
        folder.display()
    );
    assert!(asked.code == 3 && asked.err.contains(&says), "{}", asked.err);
    // It is idempotent: at the widest level nobody is asked about what it wants changed.
    assert_eq!(home.run(["--yes", "config", "set", "autonomy", "full"]).code, 0);
    let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
    assert!(asked.err.contains("by me without a question, since your level of autonomy is full"), "{}", asked.err);
    assert!(asked.err.contains("words of its own, or to people of its own choice, is asked about"), "{}", asked.err);
    assert_eq!(home.run(["config", "set", "autonomy", "supervised"]).code, 0);
    ask_for(&folder, &plain, "name = \"network:http\"\nhint = [\"example.org\"]");
    let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
    assert!(asked.code == 3 && asked.err.contains("It changes nothing. "), "{}", asked.err);
}

#[test]
fn programs_are_listed_by_name() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    let check = |hint: &str| {
        ask_for(&folder, &plain, &format!("name = \"code:exec\"{hint}"));
        home.run(["executor", "check", folder.to_str().unwrap()])
    };
    let listed = ["*", "py*", "ba?h", "/bin/[bd]ash", "../x", "/usr/bin/../bin/sh", "bin/sh", "", "{args}", "."];
    let listed = listed.map(|name| format!("\nhint = [\"date\", \"{name}\"]"));
    for hint in listed.iter().map(String::as_str).chain(["", "\nhint = []"]) {
        let checked = check(hint);
        let is_said = checked.err.contains("manifest.toml:") && checked.err.contains("list the programs");
        assert!(checked.code == 1 && is_said, "{hint}: {} {}", checked.out, checked.err);
    }
    let checked = check("\nhint = [\"date\", \"/usr/bin/wc\"]");
    assert_eq!(checked.code, 0, "{} {}", checked.out, checked.err);
}

#[test]
fn a_manifest_names_folders_that_could_be_granted() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    for hint in ["/", "//", "/tmp/..", "~/..", "~/../..", "~/a/../b", "relative", "~other/x", "/etc/shadow", "~/.ssh"] {
        ask_for(&folder, &plain, &format!("name = \"fs:read\"\nhint = [\"{hint}\"]"));
        let checked = home.run(["executor", "check", folder.to_str().unwrap()]);
        let is_said = checked.err.contains("manifest.toml:") && checked.err.contains(&format!("it asks for «{hint}»"));
        assert!(
            checked.code != 0 && is_said && !checked.err.contains("birth"),
            "«{hint}»: {} {}",
            checked.out,
            checked.err
        );
    }
    home.is_whole();
}

/// Ways to code that nobody looked at, one a line.
const LOADS_CODE: &str = r"
import builtins; builtins.exec('')
e = exec
from builtins import exec as x
x = map(eval, [])
(f := exec)
g = (lambda: 0).__globals__
import sys; m = sys.modules
from sys import modules
import os; m = os.sys.modules
import _frozen_importlib
import _ctypes
import marshal
import pickle
from pickle import loads
import logging.handlers; logging.handlers.pickle
import shelve
import dill
import code
import logging.config
from multiprocessing import reduction
import pydoc; pydoc.locate('x')
from pydoc import safeimport
from types import FunctionType
import types; types.CodeType
from types import *
import ctypes; ctypes.pythonapi
import builtins; vars(builtins)['ev' + 'al']
import builtins; b = builtins
import builtins; builtins.__dict__
import builtins; n = 'open'; getattr(builtins, n)
import builtins; getattr(builtins, 'ev' + 'al')
import builtins; getattr(builtins, 'compile')
import os; vars(os)
import sys as o; p = o; n = 'x'; getattr(p, n)
import types; n = 'x'; getattr(types, n)
import os; getattr(os, '__dict__')
x = __builtins__
x = globals()['__built' + 'ins__']
v = vars()
g = getattr
import operator; operator.attrgetter('a.__code__')
from operator import attrgetter as a; a('x' + str(1))
from operator import methodcaller; n = 'x'; methodcaller(n)
getattr(run, '__glo' + 'bals__')
n = 'x'; getattr(run, n)
w = lambda x, y: getattr(x, ''.join(y))
w = lambda x, y: getattr(x, '{}bals__'.format(y))
w = lambda x, y: getattr(x, f'{y}__')
w = lambda x, y: getattr(x, y[::-1])
w = lambda x, y: setattr(x, chr(95) + y, 1)
w = lambda x, y: getattr(x, b'x'.decode())
w = lambda x: x.__class__.__mro__
w = lambda x: x.__subclasses__()
w = lambda x: x.__getattribute__('a')
w = lambda x: x.__loader__ or x.__spec__ or x.__closure__
w = '{0.__globals__}'
m = print.__self__
import gc; gc.get_objects()
from gc import get_referrers as r
w = lambda x, y: getattr(x, y + 'als__')
w = lambda x, y: getattr(x, f'{y}e__')
";

/// What owners write that only looks like it.
const PLAIN_CODE: &str = r#"
"""What it says of __globals__ is no use of it."""
import builtins, ctypes, json, multiprocessing, operator, os, re, signal, socket, subprocess, threading, types
from http import HTTPStatus
WORD, OPEN = re.compile('a'), builtins.open
KINDS, NAME, CODE = ["exec", "eval", "compile"], __name__, HTTPStatus.OK.code if hasattr(HTTPStatus.OK, 'code') else 0
KEY, OTHER = operator.attrgetter('size', 'name.first'), getattr(builtins, 'open')
class Row:
    def put(self, field, value):
        setattr(self, field, value)
        return self.__dict__, self.__class__.__name__, vars(self), getattr(self, field), getattr(self, 'is_' + field, None)
    def signal(self, name):
        return getattr(signal, 'SIG' + name), getattr(self, f'on_{name}', None), getattr(self, name[0].low, '%(a)s' % locals())
    def other(self, row, name):
        return getattr(row, name + '_size'), getattr(row, f'{name}_of', None)
    def kind(self, name):
        return getattr(socket, name), getattr(os, name, 0)
"#;

#[test]
fn code_that_could_load_other_code_is_not_signed() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("main.py")).unwrap();
    let number = plain.lines().count() + 2;
    let check = || home.run(["executor", "check", folder.to_str().unwrap()]);
    for line in LOADS_CODE.trim().lines() {
        std::fs::write(folder.join("main.py"), format!("{plain}\n{line}\n")).unwrap();
        let checked = check();
        let says = format!("main.py line {number}: ");
        let reason = checked.err.split(&says).nth(1).unwrap_or_default();
        assert!(checked.code == 1 && reason.contains("is not allowed: it "), "{line}: {} {}", checked.out, checked.err);
    }
    // What is a comment to whoever looks through it is none in other letters, where a newline is written otherwise.
    let hidden = "# -*- coding: utf-7 -*-\n# +AAo-raise SystemExit(3)\n";
    std::fs::write(folder.join("main.py"), format!("{hidden}{PLAIN_CODE}{plain}")).unwrap();
    let checked = check();
    assert_eq!(checked.code, 0, "{} {}", checked.out, checked.err);
    home.is_whole();
}

#[test]
fn an_older_signed_version_is_promoted() {
    let home = Home::new();
    let folder = copied(&home, "newer");
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    std::fs::write(folder.join("manifest.toml"), manifest.replacen("1.0.0", "1.1.0", 1)).unwrap();
    assert_eq!(executor(&home, &["add", folder.to_str().unwrap()]).code, 0);
    let version = || home.run(["--json", "executor", "show", "get_now"]).json()["version"].clone();
    assert_eq!(version(), "1.1.0");
    let none = executor(&home, &["promote", "get_now", "3.0.0"]);
    assert!(none.code == 1 && none.err.contains("1.0.0, 1.1.0"), "{}", none.err);
    assert_eq!(executor(&home, &["promote", "get_now", "1.0.0"]).code, 0);
    assert_eq!(version(), "1.0.0");
    answers(&home, true);
    home.is_whole();
}

/// A slash more, a dot or another bracket, and the exception took nothing out; a glob in a hint opened the whole folder.
#[test]
fn hints_and_exceptions_are_written_as_paths_are_compared() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let plain = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    let check = |capability: &str| {
        ask_for(&folder, &plain, capability);
        home.run(["executor", "check", folder.to_str().unwrap()])
    };
    let excepting = |glob: &str| format!("name = \"fs:read\"\nhint = [\"~/notes/**\"]\nexcept = [\"{glob}\"]");
    for glob in [
        "~/notes/private/",
        "~/notes//private/**",
        "~/notes/[p]rivate/**",
        "~/notes/./private",
        "~/notes/../notes/private",
        "~/notes/private/**/",
        "private/**",
        "~/notes/{private}/**",
        "$HOME/notes/private",
        " ~/notes/private",
        "{data}/x",
    ] {
        let ran = check(&excepting(glob));
        assert!(ran.code == 1 && ran.err.contains("its exception «"), "{glob}: {} {}", ran.out, ran.err);
    }
    for glob in ["~/notes/private", "~/notes/private/**", "~/notes/*.key", "{home}/notes/**/secret?"] {
        assert_eq!(check(&excepting(glob)).code, 0, "{glob}");
    }
    let hinting = |hint: &str| format!("name = \"fs:read\"\nhint = [\"{hint}\"]");
    for hint in ["~/*.nothing", "~/.ssh*", "~/.ss[h]/**", "~/n?tes/**", "~/notes/*/x/**"] {
        let ran = check(&hinting(hint));
        assert!(ran.code == 1 && ran.err.contains("would get all of «"), "{hint}: {} {}", ran.out, ran.err);
    }
    for hint in ["{data}", "{data}/**", " ~/notes", "~//notes", "~/notes/"] {
        assert_eq!(check(&hinting(hint)).code, 1, "{hint}");
    }
    for hint in ["~/notes", "~/notes/**", "~/notes/*", "{workspace}/**"] {
        let ran = check(&hinting(hint));
        assert_eq!(ran.code, 0, "{hint}: {}", ran.err);
    }
}

/// The old names of the seeds led to it, and its own question said nothing of that.
#[test]
fn an_alias_takes_no_name_that_is_there() {
    let home = Home::new();
    let folder = copied(&home, "mine");
    let manifest =
        std::fs::read_to_string(folder.join("manifest.toml")).unwrap().replace("\"get_now\"", "\"get_now_too\"");
    let check = |aliases: &str| {
        let line = manifest.lines().find(|line| line.starts_with("aliases")).map(str::to_owned);
        let text = match line {
            Some(line) => manifest.replace(&line, &format!("aliases = [{aliases}]")),
            None => manifest.replacen("[description]", &format!("aliases = [{aliases}]\n\n[description]"), 1),
        };
        std::fs::write(folder.join("manifest.toml"), text).unwrap();
        home.run(["executor", "check", folder.to_str().unwrap()])
    };
    for (alias, says) in [
        ("read_files", "read_files already"),
        ("web_fetch", "get_urls already"),
        ("../../x", "is no name"),
        (" ", "is no name"),
    ] {
        let ran = check(&format!("\"{alias}\""));
        assert!(ran.code == 1 && ran.err.contains(says), "{alias}: {} {}", ran.out, ran.err);
    }
    let ran = check("\"now_too\"");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
}
