//! Cages that take long to be built, as those of large folders on a disk that was not read before.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use metnos::sandbox::{CancelFlag, Warm};
use serde_json::json;

use crate::support::{Bench, class, helper, ok};

const GOOD: &str = "def run(args, ctx):\n    return {'ok': True}\n";

/// A bench whose helpers wait for so many seconds before they begin.
fn with_slow_helpers(seconds: u32) -> (Bench, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let (program, slow) = (place.path().join("helper"), place.path().join("slow"));
    let waits = format!(
        "import os, sys, time\nif os.path.exists(\"{}\"): time.sleep({seconds})\n\
         os.execv(\"{helper}\", [\"{helper}\"] + sys.argv[1:])\n",
        slow.display(),
        helper = helper().display()
    );
    let path = std::env::var("PATH").unwrap();
    let text = format!("#!/bin/sh\nPATH='{path}' exec python3 -I -S -c '{waits}' \"$@\"\n");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bench = Bench::with_helper(program);
    ok(&bench.run(GOOD, json!({})));
    // What the sandbox is opened with is built by it, too.
    std::fs::write(slow, "").unwrap();
    (bench, place)
}

#[test]
fn the_time_of_a_call_begins_when_its_cage_stands() {
    let (mut bench, _place) = with_slow_helpers(4);
    bench.limits.wall_ms = 1000;
    ok(&bench.run(GOOD, json!({})));
    // It is kept all the same.
    assert_eq!(class(&bench.run("import time\ntime.sleep(60)\n", json!({}))), "timeout");
}

/// Cages that will wait are built by a thread of their own, which the end of the sandbox waits for.
#[test]
fn a_sandbox_that_is_closed_waits_for_no_cage() {
    let (bench, place) = with_slow_helpers(25);
    std::fs::remove_file(place.path().join("slow")).unwrap();
    bench.sandbox.keep_warm(Warm::default());
    std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            bench.run("import time\ndef run(args, ctx):\n    time.sleep(2)\n    return {'ok': True}\n", json!({}))
        });
        std::thread::sleep(Duration::from_secs(1));
        std::fs::write(place.path().join("slow"), "").unwrap();
        ok(&call.join().unwrap());
    });
    // By then it waits for its first one.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(bench.sandbox.warm_counts().waiting, 0, "the control: it is not built yet");
    let begun = Instant::now();
    drop(bench);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}: it waited for a helper", begun.elapsed());
}

#[test]
fn a_call_is_cancelled_while_its_cage_is_built() {
    let (bench, _place) = with_slow_helpers(25);
    let cancel = CancelFlag::new().unwrap();
    let outcome = std::thread::scope(|scope| {
        let call = scope.spawn(|| bench.call(GOOD, json!({}), Vec::new(), cancel.clone()));
        std::thread::sleep(Duration::from_millis(500));
        cancel.cancel();
        call.join().unwrap()
    });
    assert_eq!(class(&outcome), "cancelled");
    assert!(outcome.duration < Duration::from_secs(20), "{:?}: it waited for the helper", outcome.duration);
}
