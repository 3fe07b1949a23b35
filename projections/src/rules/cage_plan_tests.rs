//! What the plan rules promise, over hand-made manifests and over random plans.

use proptest::prelude::*;

use super::*;

fn plan(mounts: Vec<Mount>, net: Net) -> CagePlan {
    let limits = Limits {
        wall_ms: 2000,
        cpu_s: 2,
        memory_mb: 256,
        processes: 16,
        file_bytes: 64 * MIB,
        open_files: 256,
        output_bytes_max: 1 << 20,
        stage_bytes: 16 * MIB,
        tmp_bytes: 32 * MIB,
    };
    CagePlan {
        mounts,
        binaries: vec!["pdftotext".to_owned()],
        parsers: Vec::new(),
        net,
        env: vec!["LANG".to_owned()],
        syscalls: SyscallProfile::Standard,
        limits,
    }
}

fn mount(path: &str, access: Access) -> Mount {
    Mount { path: path.to_owned(), access, capability: "fs:read".to_owned(), except: Vec::new(), from_args: Vec::new() }
}

fn places() -> Places {
    Places {
        home: "/home/a".to_owned(),
        workspace: "/home/a/metnos".to_owned(),
        runtime: "/run/user/1/metnos".to_owned(),
    }
}

fn own() -> OwnDirs {
    OwnDirs {
        config: "/home/a/.config/metnos".to_owned(),
        data: "/home/a/.local/share/metnos".to_owned(),
        audit: "/home/a/metnos/.audit".to_owned(),
    }
}

#[test]
fn symbols_go_both_ways() {
    for (path, symbolic) in [
        ("/home/a/x", "{home}/x"),
        ("/home/a", "{home}"),
        ("/home/a/metnos/in", "{workspace}/in"),
        ("/home/ab", "/home/ab"),
    ] {
        assert_eq!(places().symbolise(path), symbolic);
        assert_eq!(places().resolve(symbolic), path);
    }
    assert_eq!(places().resolve("~/x"), "/home/a/x");
}

#[test]
fn a_hint_ends_at_its_first_glob() {
    assert_eq!(fixed_part("{home}/notes/**"), "{home}/notes");
    assert_eq!(fixed_part("/srv/*.txt"), "/srv");
    assert_eq!(fixed_part("/**"), "/");
    assert_eq!(fixed_part("{args}"), "{args}");
    assert_eq!(fixed_part("{workspace}/a.txt"), "{workspace}/a.txt");
}

#[test]
fn a_grant_outside_of_the_declaration_is_dropped() {
    let declared = plan(
        vec![mount("{home}/notes", Access::Read)],
        Net::Brokered { hosts: vec!["*.example.org".to_owned()], read_only: false },
    );
    let grants = CallGrants {
        read: vec!["{home}/notes/a.txt".to_owned(), "{home}/other".to_owned(), "{home}/notes/../other".to_owned()],
        write: vec!["{home}/notes/b.txt".to_owned()],
        hosts: vec!["www.example.org".to_owned(), "example.org".to_owned(), "badexample.org".to_owned()],
    };
    let call = narrow(&declared, Autonomy::Supervised, &grants);
    assert_eq!(call.mounts, vec![mount("{home}/notes/a.txt", Access::Read)]);
    assert_eq!(call.net, Net::Brokered { hosts: vec!["www.example.org".to_owned()], read_only: false });
    assert!(is_subset(&call, &declared));
    assert!(!is_subset(&declared, &call));
}

#[test]
fn a_wider_limit_is_no_subset() {
    let declared = plan(Vec::new(), Net::None);
    let mut wide = declared.clone();
    wide.limits.memory_mb += 1;
    assert!(!is_subset(&wide, &declared));
    assert!(is_subset(&declared, &wide));
}

#[test]
fn the_digest_is_pinned_and_sees_every_field() {
    let base = plan(vec![mount("{args}", Access::Read)], Net::None);
    assert_eq!(base.digest(), "blake3:0d74696d115a1e4fa01f3235d73a5c703f2f501a9ff94b12c6a29cdc1d0ae579");
    let mut other = base.clone();
    other.limits.tmp_bytes -= 1;
    assert_ne!(base.digest(), other.digest());
    let mut other = base.clone();
    other.mounts[0].except.push("x".to_owned());
    assert_ne!(base.digest(), other.digest());
    let mut other = base.clone();
    other.parsers.push("pdftotext".to_owned());
    assert_ne!(base.digest(), other.digest());
}

fn any_path() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "notes",
        "x",
        ".ssh",
        "private",
        "deep",
        ".config",
        "tool",
        "credentials",
        "sub",
        "..",
        "etc",
        "passwd",
    ]);
    let start = prop::sample::select(vec!["{home}", "{workspace}", "/srv", "/etc", "", "{runtime}", "/proc", "/root"]);
    (start, prop::collection::vec(segment, 0..4)).prop_map(|(start, segments)| match (start, segments.is_empty()) {
        ("", true) => "/".to_owned(),
        (start, true) => start.to_owned(),
        (start, false) => format!("{start}/{}", segments.join("/")),
    })
}

fn any_mount() -> impl Strategy<Value = Mount> {
    (prop_oneof![4 => any_path(), 1 => Just(ARGS.to_owned())], any::<bool>(), prop::collection::vec("[a-c]{1}", 0..2))
        .prop_map(|(path, write, except)| Mount {
            access: if write { Access::Write } else { Access::Read },
            except,
            ..mount(&path, Access::Read)
        })
}

fn any_net() -> impl Strategy<Value = Net> {
    let host = prop::sample::select(vec!["a.org", "*.a.org", "b.a.org", "{args}", "c.net"]);
    prop_oneof![
        Just(Net::None),
        (prop::collection::btree_set(host, 0..4), any::<bool>()).prop_map(|(hosts, read_only)| Net::Brokered {
            hosts: hosts.into_iter().map(str::to_owned).collect(),
            read_only
        })
    ]
}

fn any_plan() -> impl Strategy<Value = CagePlan> {
    (prop::collection::btree_set(any_mount(), 0..5), any_net(), any::<bool>()).prop_map(|(mounts, net, parses)| {
        CagePlan {
            parsers: if parses { vec!["pdftotext".to_owned()] } else { Vec::new() },
            ..plan(mounts.into_iter().collect(), net)
        }
    })
}

fn any_grants() -> impl Strategy<Value = CallGrants> {
    let hosts =
        prop::collection::vec(prop::sample::select(vec!["a.org", "x.a.org", "b.a.org", "c.net", "d.net"]), 0..4);
    (prop::collection::vec(any_path(), 0..5), prop::collection::vec(any_path(), 0..5), hosts).prop_map(
        |(read, write, hosts)| CallGrants { read, write, hosts: hosts.into_iter().map(str::to_owned).collect() },
    )
}

#[test]
fn parsers_are_of_a_closed_list_and_need_no_autonomy() {
    let manifest = |hint: &str| {
        let text = include_str!("../../../executors/read_files_pdf/manifest.toml");
        assert!(text.contains("[\"pdftotext\"]"));
        toml::from_str::<Manifest>(&text.replace("[\"pdftotext\"]", hint)).unwrap()
    };
    let pdf = declared(&manifest("[\"pdftotext\"]"));
    assert_eq!((pdf.parsers.as_slice(), pdf.binaries.len()), (["pdftotext".to_owned()].as_slice(), 0));
    assert_eq!(narrow(&pdf, Autonomy::ReadOnly, &CallGrants::default()).parsers, pdf.parsers);
    let shell = declared(&manifest("[\"bash\", \"../bin/pdftotext\", \"python3\"]"));
    assert!(shell.parsers.is_empty() && shell.binaries.is_empty());
    assert!(!is_subset(&pdf, &shell));
    // A plan without parsers has the bytes that it had before there were any: locks that were signed still hold.
    assert!(!String::from_utf8(shell.canonical_bytes()).unwrap().contains("parsers"));
}

proptest! {
    #[test]
    fn autonomy_only_ever_widens(declared in any_plan(), grants in any_grants()) {
        let read_only = narrow(&declared, Autonomy::ReadOnly, &grants);
        let supervised = narrow(&declared, Autonomy::Supervised, &grants);
        let full = narrow(&declared, Autonomy::Full, &grants);
        prop_assert!(is_subset(&read_only, &supervised));
        prop_assert!(is_subset(&supervised, &full));
        prop_assert!(is_subset(&full, &declared));
        prop_assert!(read_only.mounts.iter().all(|mount| mount.access == Access::Read));
        prop_assert!(read_only.binaries.is_empty());
        prop_assert_eq!(&read_only.parsers, &declared.parsers);
        prop_assert_eq!(full.syscalls, SyscallProfile::Standard);
    }

    #[test]
    fn what_only_looks_changes_nothing(declared in any_plan(), grants in any_grants()) {
        let call = narrow(&declared, Autonomy::Full, &grants);
        let mut looks = call.clone();
        looks.look_only();
        prop_assert!(is_subset(&looks, &call));
        prop_assert!(looks.mounts.iter().all(|mount| mount.access == Access::Read));
        let sends = matches!(looks.net, Net::Brokered { read_only: false, .. });
        prop_assert!(!sends);
    }

    #[test]
    fn core_paths_are_never_mounted(declared in any_plan(), grants in any_grants()) {
        let call = without_forbidden(&narrow(&declared, Autonomy::Full, &grants), &places(), &own());
        for mount in call.mounts.iter().filter(|mount| mount.path != ARGS) {
            prop_assert_eq!(core_paths::forbidden(&places().resolve(&mount.path), &places().home, &own()), None);
        }
        prop_assert!(is_subset(&call, &declared));
    }

    #[test]
    fn the_same_plan_has_the_same_bytes(declared in any_plan()) {
        let again: CagePlan = serde_json::from_slice(&declared.canonical_bytes()[CANONICAL_PREFIX.len()..]).unwrap();
        prop_assert_eq!(again.canonical_bytes(), declared.canonical_bytes());
    }
}
