//! Executors that somebody else signed: taken with that signature, by a key that was admitted, for as long as it is trusted; and
//! the instance's own key, without which nothing is signed.

use std::path::{Path, PathBuf};

use base64::Engine;
use ed25519_dalek::{Signer, SigningKey};
use metnos_log::hex;

use super::home::{Home, Ran, User, copy_seed, copy_tree};

fn yes(home: &Home, words: &[&str]) -> Ran {
    home.run(["--yes"].iter().chain(words))
}

fn workshop() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn public(key: &SigningKey) -> String {
    base64::engine::general_purpose::STANDARD.encode(key.verifying_key().as_bytes())
}

fn id(key: &SigningKey) -> String {
    blake3::hash(hex(key.verifying_key().as_bytes()).as_bytes()).to_hex()[..16].to_owned()
}

/// A newer get_now, as its maker hands it on: with both hashes in the manifest, locked, and signed by nothing of Metnos.
fn signed(home: &Home, key: &SigningKey, version: &str) -> PathBuf {
    let folder = home.files().join(version);
    copy_seed("get_now", &folder);
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let manifest = String::from_utf8(read("manifest.toml")).unwrap().replacen("1.0.0", version, 1);
    write("manifest.toml", &manifest);
    let lock = home.run(["--json", "executor", "check", folder.to_str().unwrap()]).json()["lock"].clone();
    let lock = lock.as_str().unwrap();
    let tests = format!("blake3:{}", blake3::hash(&read("tests/birth.py")).to_hex());
    let profile = "profile = \"declared\"";
    assert!(manifest.contains(profile), "{manifest}");
    let manifest = manifest.replacen(profile, &format!("{profile}\nhash=\"{lock}\""), 1);
    let manifest = format!("{manifest}\n[tests]\nhash=\"{tests}\"\n");
    write("manifest.toml", &manifest);
    write("profile.lock", &format!("{lock}\n"));
    let hash = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
    let parts = [hash(manifest.as_bytes()), hash(&read("main.py")), hash(&read("schema.json"))];
    let message = [parts.concat().as_slice(), lock.as_bytes()].concat();
    write("manifest.sig", &format!("{}\n", hex(&key.sign(&message).to_bytes())));
    folder
}

fn add(home: &Home, folder: &Path) -> Ran {
    yes(home, &["--json", "executor", "add", folder.to_str().unwrap()])
}

#[track_caller]
fn is_refused(ran: &Ran, says: &str) {
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert!(format!("{}{}", ran.out, ran.err).contains(says), "{says}: {} {}", ran.out, ran.err);
}

#[test]
fn what_an_admitted_key_signed_is_taken_with_that_signature() {
    let home = Home::new();
    let key = workshop();
    let folder = signed(&home, &key, "1.1.0");
    is_refused(&add(&home, &folder), "metnos key admit");
    assert_eq!(home.run(["key", "admit", &public(&key)]).code, 3);
    is_refused(&add(&home, &folder), "metnos key admit");
    let admitted = yes(&home, &["--json", "key", "admit", &public(&key), "--name", "workshop"]);
    assert_eq!((admitted.code, admitted.json()["key"].as_str()), (0, Some(id(&key).as_str())), "{}", admitted.err);
    is_refused(&yes(&home, &["key", "admit", &public(&key)]), "already");
    let other = SigningKey::from_bytes(&[8; 32]);
    assert_eq!(yes(&home, &["key", "admit", &public(&other), "--name", "other"]).code, 0);
    let asked = home.run(["executor", "add", folder.to_str().unwrap()]);
    assert!(asked.code == 3 && asked.err.contains("(workshop)"), "{}", asked.err);
    let added = add(&home, &folder);
    assert_eq!((added.code, added.json()["key"].as_str()), (0, Some(id(&key).as_str())), "{}", added.err);
    let shown = home.run(["--json", "executor", "show", "get_now"]).json();
    assert_eq!((shown["version"].as_str(), shown["signed"]["key_id"].as_str()), (Some("1.1.0"), Some(&*id(&key))));
    let files = home.metnos().join("workspace/executors/get_now/1.1.0");
    for name in ["manifest.toml", "manifest.sig", "profile.lock"] {
        assert_eq!(std::fs::read(files.join(name)).unwrap(), std::fs::read(folder.join(name)).unwrap(), "{name}");
    }
    assert_eq!(home.ask("what time is it").code, 0);
    let history = home.run(["--json", "executor", "history", "get_now"]).out;
    let mut events = history.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let signing = events.rfind(|event| event["event"] == "executor_signed").unwrap()["seq"].to_string();
    let why = home.run(["why", &signing]).out;
    assert!(why.contains("(workshop) may sign") && !why.contains("(other)"), "{why}");
    home.is_whole();
}

#[test]
fn what_was_changed_after_it_was_signed_is_refused() {
    let home = Home::new();
    let key = workshop();
    assert_eq!(yes(&home, &["key", "admit", &hex(key.verifying_key().as_bytes())]).code, 0);
    let append = |folder: &Path, name: &str, text: &str| {
        let path = folder.join(name);
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, before + text).unwrap();
    };
    let code = signed(&home, &key, "1.1.0");
    append(&code, "main.py", "\n");
    is_refused(&add(&home, &code), "no key that may sign here");
    let tests = signed(&home, &key, "1.2.0");
    append(&tests, "tests/birth.py", "\n");
    is_refused(&add(&home, &tests), "manifest.toml does not name the hash");
    let lock = signed(&home, &key, "1.3.0");
    std::fs::write(lock.join("profile.lock"), "blake3:00\n").unwrap();
    is_refused(&add(&home, &lock), "profile.lock does not name the hash");
    let short = signed(&home, &key, "1.4.0");
    std::fs::write(short.join("manifest.sig"), "00\n").unwrap();
    is_refused(&add(&home, &short), "does not hold a signature");
    // By one's own key any folder is signed that brings no signature.
    std::fs::remove_file(short.join("manifest.sig")).unwrap();
    assert_eq!(add(&home, &short).code, 0);
    home.is_whole();
}

#[test]
fn a_revoked_key_taints_what_it_signed_until_that_is_approved() {
    let home = Home::new();
    let key = workshop();
    assert_eq!(yes(&home, &["key", "admit", &public(&key), "--name", "workshop"]).code, 0);
    assert_eq!(add(&home, &signed(&home, &key, "1.1.0")).code, 0);
    for _ in 0..2 {
        assert_eq!(home.run(["--json", "executor", "run", "get_now"]).code, 0);
        assert_eq!(home.ask("what time is it").code, 0);
    }
    let asked = home.run(["key", "revoke", "workshop", "--reason", "the laptop was stolen"]);
    assert_eq!(asked.code, 3);
    assert!(asked.err.contains("get_now 1.1.0, called 4 times"), "{}", asked.err);
    let revoked = yes(&home, &["--json", "key", "revoke", "workshop", "--reason", "the laptop was stolen"]);
    assert_eq!(revoked.json()["tainted"][0]["calls"], 4, "{} {}", revoked.out, revoked.err);
    let shown = home.run(["--json", "executor", "show", "get_now"]).json();
    assert_eq!(shown["state"], "quarantined");
    assert!(shown["reason"].as_str().unwrap().contains("the laptop was stolen"), "{shown}");
    assert_ne!(home.run(["executor", "run", "get_now"]).code, 0);
    assert_ne!(home.ask("what time is it").code, 0);
    let history = home.run(["executor", "history", "get_now"]).out;
    assert_eq!(history.matches("may not sign any more").count(), 5, "four calls and how many: {history}");
    let keys = home.run(["--json", "key", "list"]).json();
    let listed = keys["keys"].as_array().unwrap().iter().find(|listed| listed["name"] == "workshop").unwrap();
    assert_eq!((&listed["key"], &listed["revoked"]["reason"]), (&id(&key).into(), &"the laptop was stolen".into()));
    assert_eq!(home.run(["--json", "--at", "1", "key", "list"]).json()["keys"], serde_json::json!([]));

    is_refused(&yes(&home, &["key", "admit", &public(&key)]), "for good");
    is_refused(&yes(&home, &["key", "revoke", "workshop"]), "for good");
    is_refused(&add(&home, &signed(&home, &key, "1.2.0")), "which was revoked");
    let own = keys["keys"].as_array().unwrap().iter().find(|listed| listed["role"] == "instance").unwrap();
    is_refused(&yes(&home, &["key", "revoke", own["key"].as_str().unwrap()]), "--home");

    assert_eq!(yes(&home, &["executor", "approve", "get_now"]).code, 0);
    assert_eq!(home.ask("what time is it").code, 0);
    let signed = home.run(["--json", "executor", "show", "get_now"]).json();
    assert_eq!((&signed["version"], &signed["signed"]["key_id"]), (&"1.1.0".into(), &own["key"]));
    // What was called under the key stays so, whoever signed since.
    let history = home.run(["executor", "history", "get_now", "--calls"]).out;
    assert_eq!(history.matches("may not sign any more").count(), 5, "four calls and how many: {history}");
    assert!(history.contains("6 calls in all"), "{history}");
    home.is_whole();
}

/// A folder that nobody signed, with another version than the one that every home has.
fn unsigned(home: &Home, version: &str) -> PathBuf {
    let folder = home.files().join(format!("mine-{version}"));
    copy_seed("get_now", &folder);
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    std::fs::write(folder.join("manifest.toml"), manifest.replacen("1.0.0", version, 1)).unwrap();
    folder
}

#[test]
fn what_one_instance_signed_is_added_by_another_that_admitted_its_key() {
    let (maker, taker) = (Home::new(), Home::empty(super::home::User::Current));
    let folder = unsigned(&maker, "1.1.0");
    let folder_name = folder.to_str().unwrap();
    let sign = |home: &Home| yes(home, &["--json", "executor", "sign", folder_name]);
    let asked = maker.run(["executor", "sign", folder_name]);
    assert!(asked.code == 3 && asked.err.contains("with your key"), "{} {}", asked.code, asked.err);
    assert!(!folder.join("manifest.sig").exists());
    let signed = sign(&maker);
    assert_eq!(signed.code, 0, "{} {}", signed.out, signed.err);
    let signed = signed.json();
    assert_eq!((&signed["name"], &signed["version"]), (&"get_now".into(), &"1.1.0".into()));
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).unwrap();
    let lock = signed["lock"].as_str().unwrap();
    assert!(manifest.contains(lock) && manifest.contains("[tests]\nhash = \"blake3:"), "{manifest}");
    assert_eq!(std::fs::read_to_string(folder.join("profile.lock")).unwrap(), format!("{lock}\n"));
    // It is on record, and not here.
    assert_eq!(maker.run(["--json", "executor", "show", "get_now"]).json()["version"], "1.0.0");
    assert!(maker.run(["executor", "history", "get_now"]).out.contains("1.1.0"));
    let again = sign(&maker).json();
    assert_eq!((&again["signed_before"], &again["key"]), (&true.into(), &signed["key"]));
    // Another instance takes it for its key, and not before.
    assert_eq!(taker.ask("what time is it").code, 0);
    is_refused(&add(&taker, &folder), "metnos key admit");
    let key = std::fs::read_to_string(maker.metnos().join("config/keys/instance.pub")).unwrap();
    assert_eq!(yes(&taker, &["key", "admit", key.trim(), "--name", "workshop"]).code, 0);
    let added = add(&taker, &folder);
    assert_eq!((added.code, &added.json()["key"]), (0, &signed["key"]), "{}", added.err);
    assert_eq!(taker.run(["--json", "executor", "show", "get_now"]).json()["version"], "1.1.0");
    assert_eq!(taker.ask("what time is it").code, 0);
    // A version that was signed is never another one; the next version is.
    let code = folder.join("main.py");
    let changed = std::fs::read_to_string(&code).unwrap() + "\n# more\n";
    std::fs::write(&code, changed).unwrap();
    is_refused(&sign(&maker), "a change is a new version");
    is_refused(&sign(&taker), "a change is a new version");
    std::fs::remove_file(folder.join("manifest.sig")).unwrap();
    is_refused(&sign(&maker), "a change is a new version");
    std::fs::write(folder.join("manifest.toml"), manifest.replacen("1.1.0", "1.2.0", 1)).unwrap();
    assert_eq!(sign(&maker).code, 0);
    let newer = unsigned(&maker, "1.3.0");
    std::fs::copy(folder.join("manifest.sig"), newer.join("manifest.sig")).unwrap();
    assert_eq!(yes(&maker, &["executor", "sign", newer.to_str().unwrap()]).code, 0, "it was the older version's");
    assert_eq!((add(&taker, &newer).code, add(&maker, &newer).code), (0, 0));
    maker.is_whole();
    taker.is_whole();
}

#[test]
fn what_does_not_pass_is_not_signed() {
    let home = Home::new();
    let refused = |name: &str, file: &str, text: &str| {
        let folder = unsigned(&home, name);
        let before = std::fs::read_to_string(folder.join(file)).unwrap();
        std::fs::write(folder.join(file), before + text).unwrap();
        let events = home.run(["log", "export"]).out.matches("\"executor_signed\"").count();
        let ran = yes(&home, &["executor", "sign", folder.to_str().unwrap()]);
        assert_eq!(ran.code, 1, "{file}: {} {}", ran.out, ran.err);
        assert!(!folder.join("manifest.sig").exists() && !folder.join("profile.lock").exists(), "{file}");
        assert_eq!(home.run(["log", "export"]).out.matches("\"executor_signed\"").count(), events);
    };
    refused(
        "2.1.0",
        "main.py",
        "\ndef run(args, ctx):\n    return {'ok': False, 'error_class': 'crashed', 'error': 'x'}\n",
    );
    refused("2.2.0", "main.py", "\neval('1')\n");
    refused("2.3.0", "manifest.toml", "\n[[capabilities]]\nname = \"no:such\"\n");
    refused("2.4.0", "schema.json", "}");
    // An executor that is here is signed already, whoever signed it; of a name that is not, there is no folder.
    let named = yes(&home, &["executor", "sign", "get_now"]);
    assert!(named.code == 0 && named.out.contains("signed already, by your key"), "{} {}", named.out, named.err);
    assert_ne!(yes(&home, &["executor", "sign", "no_such_thing"]).code, 0);
    home.is_whole();
}

/// The end that a killed process left unsigned was signed by the wrong key, and the log did not verify any more.
#[test]
fn a_command_under_another_key_signs_nothing() {
    let (home, other) = (Home::new(), Home::empty(User::Current));
    let mut killed = home.command_with([("METNOS_KILL_AT", "append:2:after")]);
    killed.args(["ask", "what time is it in Tokyo"]).output().unwrap();
    assert_eq!(other.run(["status"]).code, 0);
    let keys = home.metnos().join("config/keys");
    let own = home.files().join("keys");
    std::fs::rename(&keys, &own).unwrap();
    copy_tree(&other.metnos().join("config/keys"), &keys);
    let refused = home.run(["status"]);
    assert!(refused.code != 0 && refused.err.contains("belongs to the key"), "{} {}", refused.out, refused.err);
    std::fs::remove_dir_all(&keys).unwrap();
    std::fs::rename(&own, &keys).unwrap();
    let verified = home.run(["log", "verify"]);
    assert!(verified.code == 0 && verified.out.contains("good"), "{} {}", verified.out, verified.err);
    home.is_whole();
}
