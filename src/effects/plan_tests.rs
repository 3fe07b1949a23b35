//! What may be planned, and why the rest may not.

use serde_json::json;

use super::*;
use crate::broker::target::grant_for_pattern;

fn target(pointer: &str, canonical: &str, b64: Option<&str>) -> Target {
    Target {
        pointer: pointer.to_owned(),
        role: "target_path".to_owned(),
        given: canonical.to_owned(),
        canonical: canonical.to_owned(),
        canonical_b64: b64.map(str::to_owned),
        kind: "file".to_owned(),
        trouble: None,
    }
}

/// Plans what a result wants changed where nothing can be staged.
fn planned(effects: &Value, targets: &Named) -> Planned {
    planned_to(effects, targets, &[])
}

/// The same of an executor that may reach these hosts.
fn planned_to(effects: &Value, targets: &Named, hosts: &[HostGrant]) -> Planned {
    let scratch = tempfile::tempdir().unwrap();
    let (keys, _) = Keys::open(scratch.path()).unwrap();
    let around = Around {
        staged: &|_, _| Err(io::Error::from_raw_os_error(40)),
        name_of: &|bytes| plain_blob_hash(bytes),
        keys: &keys,
        trash: &Trash::new(scratch.path(), None),
        home: "/nobody",
        own: &OwnDirs::default(),
        web: (hosts, false),
        people: None,
    };
    plan(&json!({ "ok": true, "effects": effects }), targets, around)
}

#[test]
fn only_what_was_named_may_be_changed() {
    let targets = [
        target("/entries", "/h/old", None),
        target("/dst_template", "/h/new/{year}/{name}", None),
        target("/path", "/h/caff\u{fffd}", Some("L2gvY2FmZug=")),
    ];
    let args =
        json!({ "entries": [{ "path": "/h/old/a" }, { "path": "/h/old/b\u{fffd}", "path_b64": "L2gvb2xkL2Lo" }] });
    let named = Named::new(&targets, &args);
    assert!(named.has(Path::new("/h/old/a")) && !named.has(Path::new("/h/old/c")) && !named.has(Path::new("/h/old")));
    assert!(named.has(&exact("", Some("L2gvb2xkL2Lo"))));
    assert!(named.allows(Path::new("/h/new/2024/x"), None) && !named.allows(Path::new("/h/newer/x"), None));
    assert!(named.has(&named.meant("/h/caff\u{fffd}", None)), "a writer sees only the text of such a name");
    assert!(!named.has(Path::new("/h/caff\u{fffd}")));
}

#[test]
fn a_plain_name_leads_beside_what_is_moved_and_nowhere_else() {
    let targets = [target("/paths/0", "/h/a/x", None), target("/dst_template", "{dir}/y", None)];
    let named = Named::new(&targets, &json!({}));
    let allows = |dst: &str| named.allows(Path::new(dst), Some(Path::new("/h/a/x")));
    assert!(allows("/h/a/y") && !allows("/h/y") && !allows("/etc/y"));
}

#[test]
fn the_program_that_undoes_is_not_changed() {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap().to_owned();
    for (path, op) in [(&own, "write"), (&own, "set_mode"), (&own, "delete"), (&folder, "delete")] {
        let path = path.to_str().unwrap();
        let targets = Named::new(&[target("/path", path, None)], &json!({}));
        let planned = planned(&json!([{ "op": op, "path": path, "from": "x", "mode": 0 }]), &targets);
        let trouble = planned.ops[0].trouble.clone().unwrap();
        assert_eq!((trouble.0.as_str(), trouble.1.as_str()), ("policy_violation", "own_program"), "{op} {path}");
    }
}

#[test]
fn what_is_no_change_is_said_to_be_none() {
    let targets = Named::new(&[target("/path", "/nobody/a", None)], &json!({}));
    let write = json!({ "op": "write", "path": "/nobody/a", "from": "way/out" });
    for (effects, class, reason) in [
        (json!("x"), "contract_violation", "no_list"),
        (json!([{ "op": "send", "to": "x" }]), "policy_violation", "no_capability: channel:out"),
        (json!([{ "op": "http", "url": "https://x.test" }]), "contract_violation", "no_method: "),
        (
            json!([{ "op": "http", "method": "POST", "url": "https://x.test" }]),
            "policy_violation",
            "address_refused: x.test:443 was not granted",
        ),
        (json!([{ "op": "sing", "path": "/nobody/a" }]), "contract_violation", "unknown_change: sing"),
        (json!([7]), "contract_violation", "unknown_change: "),
        (json!([{ "op": "delete", "path": "a" }]), "contract_violation", "not_normal"),
        (json!([write]), "contract_violation", "not_staged: way/out"),
    ] {
        let planned = planned(&effects, &targets);
        let troubles: Vec<_> = planned.ops.into_iter().map(|op| op.trouble).collect();
        assert_eq!(troubles, [Some((class.to_owned(), reason.to_owned()))]);
    }
    assert!(planned(&Value::Null, &targets).ops.is_empty());
}

#[test]
fn so_many_requests_are_planned_and_no_more() {
    let hosts = [grant_for_pattern("x.test").unwrap()];
    let troubles = |count: usize| {
        let posts = vec![json!({ "op": "http", "method": "POST", "url": "https://x.test/" }); count];
        let planned = planned_to(&posts.into(), &Named::default(), &hosts);
        planned.ops.into_iter().filter_map(|op| op.trouble).collect::<Vec<_>>()
    };
    assert_eq!(troubles(64), []);
    assert_eq!(troubles(65), [("policy_violation".to_owned(), "too_many_requests: 64".to_owned())]);
}

#[test]
fn of_several_texts_for_one_file_the_last_is_shown() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let (keys, _) = Keys::open(&root).unwrap();
    let (trash, own) = (Trash::new(&root, None), OwnDirs::default());
    let around = Around {
        staged: &|name, _| Ok(name.as_bytes().to_vec()),
        name_of: &|bytes| plain_blob_hash(bytes),
        keys: &keys,
        trash: &trash,
        home: "/nobody",
        own: &own,
        web: (&[], false),
        people: None,
    };
    let path = |name: &str| root.join(name).to_string_lossy().into_owned();
    let targets = Named::new(&[target("/a", &path("a"), None), target("/b", &path("b"), None)], &json!({}));
    let write = |name: &str, from: String| json!({ "op": "write", "path": path(name), "from": from });
    let mut effects: Vec<Value> = (0..9).map(|number| write("a", format!("text {number}"))).collect();
    effects.push(write("b", "other".to_owned()));
    let planned = plan(&json!({ "ok": true, "effects": effects }), &targets, around);
    let shown: Vec<Option<&str>> = planned.ops.iter().map(|op| op.text.as_deref()).collect();
    assert_eq!(shown, [&[None; 8][..], &[Some("text 8"), Some("other")]].concat());
}

#[test]
fn only_the_beginning_of_a_text_is_shown() {
    assert_eq!(beginning(b"buy milk\n"), "buy milk\n");
    assert_eq!(beginning("è".repeat(1000).as_bytes()), "è".repeat(SHOWN_CHARS));
    // Cut within a letter of four bytes.
    assert_eq!(beginning(format!("a{}", "𝄞".repeat(1000)).as_bytes()).chars().count(), SHOWN_CHARS);
    assert_eq!(beginning(b"PK\x03\x04\xff\xfe"), "");
    assert_eq!(beginning(b"a\0b"), "");
    assert_eq!(beginning(b"cut \xc3"), "", "half a letter at the very end is no text");
}

/// A move to a place that nobody named said that what is moved was not to be changed.
#[test]
fn of_a_refused_move_the_end_that_is_refused_is_named() {
    let targets = [target("/paths/0", "/nobody/a", None), target("/dst_template", "/nobody/new/{name}", None)];
    let targets = Named::new(&targets, &json!({}));
    for (src, dst, reason, blamed) in [
        ("/nobody/a", "/nobody/other/a", "unasked_target", "/nobody/other/a"),
        ("/nobody/a", "/nobody/new/../a", "not_normal", "/nobody/new/../a"),
        ("/nobody/b", "/nobody/new/b", "unasked_target", "/nobody/b"),
    ] {
        let effects = json!([{ "op": "move", "src": src, "dst": dst }]);
        let planned = planned(&effects, &targets);
        let said: Vec<_> = planned.ops.iter().map(|op| (op.path.as_str(), op.trouble.clone().unwrap().1)).collect();
        assert_eq!(said, [(blamed, reason.to_owned())], "{src} {dst}");
    }
}
