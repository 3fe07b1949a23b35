//! Code that was compiled before: what a call does with it is the same, only sooner.

use std::time::{Duration, Instant};

use metnos::sandbox::{Outcome, Warm};
use serde_json::{Value, json};

use crate::support::{Bench, class, ok};

const PATIENCE: Duration = Duration::from_secs(20);

fn kept_warm() -> Bench {
    let bench = Bench::only(false);
    bench.sandbox.keep_warm(Warm { size: 1, idle: Duration::from_mins(1) });
    bench
}

/// Calls until the code is one that was compiled before; the first outcome and the last.
fn until_compiled(bench: &Bench, code: &str) -> [Outcome; 2] {
    let until = Instant::now() + PATIENCE;
    let compiled = || bench.sandbox.warm_counts().compiled;
    let before = compiled();
    let first = bench.run(code, json!({}));
    assert_eq!(compiled(), before, "nobody has compiled it yet");
    loop {
        let outcome = bench.run(code, json!({}));
        if compiled() > before {
            return [first, outcome];
        }
        assert!(Instant::now() < until, "it is never compiled");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What of an outcome must not differ.
fn seen(outcome: &Outcome) -> (Result<Value, (&str, &str)>, String, String) {
    let reply = outcome.reply.clone();
    let failed = outcome.reply.as_ref().err();
    let reply = reply.map_err(|_| failed.map_or(("", ""), |failure| (failure.class, failure.message.as_str())));
    (reply, outcome.stdout.text(), outcome.stderr.text())
}

#[test]
fn what_is_compiled_ahead_does_what_its_text_says() {
    let bench = kept_warm();
    for code in [
        "'''Says what it is.'''\n# è\ndef run(args, ctx):\n    print(__doc__, __name__, __file__, 'è')\n    return {'ok': True, 'n': 0.1, 'text': '\\ud83d\\ude00'}\n",
        "def run(args, ctx):\n    def inner():\n        return 1 / 0\n    return inner()\n",
        "from __future__ import annotations\ndef run(args, ctx):\n    assert len(args) == 1, args\n    return {'ok': True}\n",
        "import sys\ndef run(args, ctx):\n    return {'ok': True, 'modules': sorted(sys.modules), 'where': sys._getframe().f_code.co_filename}\n",
        "raise SystemExit('not today')\n",
        "x = 1\n",
    ] {
        let [text, compiled] = until_compiled(&bench, code);
        assert_eq!(seen(&compiled), seen(&text), "{code}");
    }
}

#[test]
fn no_call_has_a_say_in_what_the_next_one_runs() {
    let bench = kept_warm();
    let code = "
import builtins, marshal, sys
genuine = compile('1', 'x', 'eval'), marshal.dumps(1), sys.modules['marshal'] is marshal
def run(args, ctx):
    was = getattr(builtins, 'spoilt', False)
    builtins.spoilt = True
    builtins.compile = lambda *given, **named: genuine[0]
    marshal.dumps = lambda value: b'N'
    marshal.loads = lambda data: None
    sys.modules['marshal'] = None
    return {'ok': True, 'was': was, 'whole': genuine[2]}
";
    let [text, compiled] = until_compiled(&bench, code);
    assert_eq!(ok(&text), &json!({ "ok": true, "was": false, "whole": true }));
    assert_eq!(ok(&compiled), ok(&text));
}

#[test]
fn what_cannot_be_compiled_fails_as_ever() {
    let bench = kept_warm();
    let good = "def run(args, ctx):\n    return {'ok': True}\n";
    let deep = format!("x = {}1{}\n", "(".repeat(5000), ")".repeat(5000));
    let wrong = ["def run(", "x = '\\N{no such name}'\n", deep.as_str()];
    let say = || {
        wrong.map(|code| {
            let outcome = bench.run(code, json!({}));
            assert_eq!(class(&outcome), "crashed", "{}", &code[..9]);
            outcome.reply.unwrap_err().message
        })
    };
    let first = say();
    // What comes after them is compiled all the same, and by then it is known of them.
    until_compiled(&bench, good);
    assert_eq!(say(), first);
    assert_eq!(bench.sandbox.warm_counts().failed, 0);
}

/// What a call's own limits do not let it compile is not compiled with more, nor is what a text says then kept from its calls.
#[test]
fn what_is_not_as_its_calls_would_compile_it_stays_text() {
    let mut bench = kept_warm();
    // Each `finally` is compiled twice, so this takes more memory than it looks.
    let indented = |text: &str| format!(" {}", text.replace('\n', "\n "));
    let body = (0..13).fold("pass".to_owned(), |body, _| format!("try: pass\nfinally:\n{}", indented(&body)));
    let long = format!("def run(args, ctx):\n return {{'ok': True}}\ndef other():\n{}\n", indented(&body));
    let warns = "def run(args, ctx):\n    return {'ok': args is 'x'}\n";
    let enough = bench.limits.memory_mb;
    ok(&bench.run(&long, json!({})));
    for round in 0..4 {
        bench.limits.memory_mb = 24;
        assert_eq!(class(&bench.run(&long, json!({}))), "crashed");
        bench.limits.memory_mb = enough;
        assert!(bench.run(warns, json!({})).stderr.text().contains("SyntaxWarning"));
        // What comes after them is compiled after them.
        until_compiled(&bench, &format!("def run(args, ctx):\n    return {{'ok': True, 'round': {round}}}\n"));
    }
}

#[test]
fn one_that_makes_few_calls_compiles_nothing_ahead() {
    let bench = Bench::only(false);
    let good = "def run(args, ctx):\n    return {'ok': True}\n";
    for _ in 0..3 {
        ok(&bench.run(good, json!({})));
    }
    assert_eq!(bench.sandbox.warm_counts().compiled, 0);
}
