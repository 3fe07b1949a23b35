//! The helper that builds one cage after the other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Bench, children, grant, ok};

#[test]
fn a_helper_builds_the_next_cage_as_long_as_all_goes_well() {
    crate::support::alone("spares::calls_of_one_helper");
}

#[test]
#[ignore = "run alone by a_helper_builds_the_next_cage_as_long_as_all_goes_well, which kills it"]
fn calls_of_one_helper() {
    let mut bench = Bench::only(false);
    let good = "def run(args, ctx):\n    return {'ok': True}\n";
    // Where an interpreter takes too long to go, as it may on a busy machine, its helper ends it and goes, too.
    let begun = |bench: &Bench| {
        let mut tries = (0..20).map(|_| {
            ok(&bench.run(good, json!({})));
            children()
        });
        tries.find(|helper| !helper.is_empty()).expect("a helper that is kept")
    };
    let helper = begun(&bench);
    assert_eq!(helper.split_whitespace().count(), 1);
    ok(&bench.run_with(good, json!({}), vec![grant(&bench.path("runtime"), false)]));
    let helper = begun(&bench);
    assert_eq!(bench.run("import os\nos._exit(1)\n", json!({})).reply.unwrap_err().class, "crashed");
    assert_eq!(children(), helper, "it builds the next one, whatever an executor does");
    // It is interrupted whenever the thread ends that started it, which is no concern of the calls of others.
    let pid = |children: &str| rustix::process::Pid::from_raw(children.trim().parse().unwrap()).unwrap();
    let held = |helper: &str| rustix::process::pidfd_open(pid(helper), rustix::process::PidfdFlags::empty()).unwrap();
    let (interrupted, is_over) = (Mutex::new(held(&helper)), AtomicBool::new(false));
    let (failed, ended, sent) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut sent = 0;
            while !is_over.load(Ordering::Relaxed) {
                let is_sent = rustix::process::pidfd_send_signal(&*interrupted.lock().unwrap(), Signal::TERM).is_ok();
                sent += u64::from(is_sent);
                // The kernel begins a clone that is interrupted anew, so some of them must have time enough.
                std::thread::sleep(std::time::Duration::from_micros(200 * (sent % 24)));
            }
            sent
        });
        let (mut failed, mut ended, mut last) = (Vec::new(), 0, helper);
        for _ in 0..150 {
            failed.extend(bench.run(good, json!({})).reply.err());
            let now = children();
            ended += i32::from(now.is_empty());
            if now != last && !now.is_empty() {
                *interrupted.lock().unwrap() = held(&now);
                last = now;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        (failed, ended, sender.join().unwrap())
    });
    assert_eq!(failed, []);
    assert!(sent > 150, "one a call at least");
    assert!(ended < 50, "{ended} of 150 calls: what interrupts it ends it");
    let helper = begun(&bench);
    // One that had to end its cage is not asked again.
    bench.limits.wall_ms = 100;
    let late = bench.run("import time\ntime.sleep(9)\n", json!({}));
    assert_eq!(late.reply.unwrap_err().class, "timeout");
    assert_eq!(children(), "");
    bench.limits.wall_ms = crate::support::LIMITS.wall_ms;
    let second = begun(&bench);
    assert_ne!(second, helper);
    // One that died meanwhile costs the call nothing.
    let died = held(&second);
    rustix::process::kill_process(pid(&second), Signal::KILL).unwrap();
    let mut waiting = [rustix::event::PollFd::new(&died, rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut waiting, None).unwrap(), 1);
    ok(&bench.run(good, json!({})));
    assert!(children() != second);
    // Two at a time have one each, and one of them is kept.
    let slow = "import time\ndef run(args, ctx):\n    time.sleep(0.3)\n    return {'ok': True}\n";
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..2).map(|_| scope.spawn(|| bench.run(slow, json!({})).reply.is_ok())).collect();
        assert!(calls.into_iter().all(|call| call.join().unwrap()));
    });
    assert_eq!(children().split_whitespace().count(), 1);
    // One that is stopped holds nobody up.
    rustix::process::kill_process(pid(&children()), Signal::STOP).unwrap();
    drop(bench);
    assert_eq!(children(), "", "a sandbox that is closed leaves none");
}

#[test]
fn a_stopped_helper_takes_no_deadline_away() {
    crate::support::alone("spares::a_call_whose_helper_is_stopped");
}

/// Whoever may send signals to the helpers may stop them; the daemon then ends what they watch over.
#[test]
#[ignore = "run alone by a_stopped_helper_takes_no_deadline_away, which stops it"]
fn a_call_whose_helper_is_stopped() {
    let mut bench = Bench::only(false);
    bench.limits.wall_ms = 1000;
    let folder = bench.path("work");
    std::fs::create_dir(&folder).unwrap();
    let lines = || std::fs::read(folder.join("lines")).unwrap_or_default().len();
    let code = "def run(args, ctx):\n    with open(args['folder'] + '/lines', 'a') as lines:\n        while True: lines.write('x'); lines.flush()\n";
    let outcome = std::thread::scope(|scope| {
        let call = scope.spawn(|| bench.run_with(code, json!({ "folder": folder }), vec![grant(&folder, true)]));
        while lines() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let helper = rustix::process::Pid::from_raw(children().trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(helper, Signal::STOP).unwrap();
        call.join().unwrap()
    });
    let ended = lines();
    assert_eq!(outcome.reply.unwrap_err().class, "timeout");
    assert!(outcome.duration < std::time::Duration::from_millis(2900), "{:?}", outcome.duration);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!((lines(), children().as_str()), (ended, ""), "nobody writes any more");
}
