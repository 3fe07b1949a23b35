//! Who the people are: known, paired by codes, given a language and an autonomy, and let go again.

use serde_json::Value;

use crate::home::Home;

fn actors(home: &Home) -> Vec<Value> {
    home.run(["--json", "actor", "list"]).json()["actors"].as_array().unwrap().clone()
}

fn one<'a>(actors: &'a [Value], name: &str) -> &'a Value {
    actors.iter().find(|actor| actor["name"] == name).unwrap()
}

#[test]
fn a_guest_is_known_looks_alone_and_has_a_code_of_their_own() {
    let home = Home::new();
    let added = home.run(["actor", "add", "a guest", "--language", "it"]);
    assert_eq!(added.code, 0, "{}", added.err);
    assert!(added.out.contains("metnos pair new --actor guest_"), "{}", added.out);
    let again = home.run(["actor", "add", "a guest"]);
    assert_eq!(again.code, 2, "{} {}", again.out, again.err);

    let all = actors(&home);
    let (host, guest) = (one(&all, "a guest")["role"].clone(), one(&all, "a guest").clone());
    assert_eq!((host.as_str(), guest["language"].as_str()), (Some("guest"), Some("it")));
    assert_eq!(guest["autonomy"], "read_only", "a guest looks, and nothing else, until the host says otherwise");
    assert_eq!(all.iter().filter(|actor| actor["role"] == "host").count(), 1);
    assert_eq!(home.run(["actor", "autonomy", "A Guest", "supervised"]).code, 0);
    assert_eq!(one(&actors(&home), "a guest")["autonomy"], "supervised");

    let code = home.run(["pair", "new", "--actor", "a guest", "--minutes", "5"]);
    assert_eq!((code.code, code.out.lines().count()), (0, 1), "{}", code.err);
    assert!(code.out.starts_with("PAIR.") && code.err.contains("Good once"), "{} {}", code.out, code.err);
    let codes = home.run(["--json", "pair", "list"]).json();
    let codes = codes["codes"].as_array().unwrap();
    assert_eq!((codes.len(), &codes[0]["actor"]), (1, &guest["actor"]));
    // The code is a secret of who gets it: nothing below the home holds it.
    let found = grep(&home, code.out.trim());
    assert_eq!(found, Vec::<String>::new());

    assert_eq!(home.run(["actor", "revoke", "a guest"]).code, 0);
    assert_eq!(home.run(["--json", "pair", "list"]).json()["codes"], serde_json::json!([]));
    home.is_whole();
}

#[test]
fn what_cannot_be_is_refused_with_the_next_step() {
    let home = Home::new();
    let cases: [(&[&str], i32, &str); 7] = [
        (&["actor", "autonomy", "nobody", "full"], 1, "metnos actor list"),
        (&["actor", "autonomy", "owner", "everything"], 2, "read_only, supervised, full"),
        (&["actor", "language", "owner", "klingon"], 2, "en or it"),
        (&["actor", "add", ""], 2, "metnos actor list"),
        (&["pair", "new", "--actor", "nobody"], 1, "metnos actor list"),
        (&["pair", "new", "--minutes", "0"], 2, "--minutes"),
        (&["pair", "revoke", "01ARZ3NDEKTSV4RRFFQ69G5FAV"], 1, "metnos pair list"),
    ];
    for (words, code, hint) in cases {
        let ran = home.run(words);
        assert_eq!(ran.code, code, "{words:?}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains(hint), "{words:?}: {}", ran.err);
    }
    for _ in 0..3 {
        assert_eq!(home.run(["pair", "new"]).code, 0);
    }
    let many = home.run(["pair", "new"]);
    assert_eq!(many.code, 1, "codes that nobody uses do not pile up: {}", many.out);
}

/// Files below the home that hold a text.
fn grep(home: &Home, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![home.metnos()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path)
                && bytes.windows(text.len()).any(|window| window == text.as_bytes())
            {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_code_is_taken_back_by_itself_or_by_its_id() {
    let home = Home::new();
    for by in ["code", "id"] {
        let made = home.run(["--json", "pair", "new"]).json();
        let ran = home.run(["pair", "revoke", made[by].as_str().unwrap()]);
        assert_eq!(ran.code, 0, "{by}: {}", ran.err);
        assert!(home.run(["--json", "pair", "list"]).json()["codes"].as_array().unwrap().is_empty(), "{by}");
    }
    let said = home.run(["pair", "new"]).err;
    assert!(said.contains("metnos pair revoke "), "{said}");
}
