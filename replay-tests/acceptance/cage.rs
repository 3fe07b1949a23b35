//! The cage, attacked: executors made to break out run at every level, and each escape is first shown to succeed where its
//! layer is left out.
//!
//! Runs as whoever runs the tests; as root the whole suite runs once more as an ordinary user. What the machine lacks is
//! skipped aloud. Nothing here reaches the network beyond loopback.

mod support;

use serde_json::json;

use support::{Bench, ok};

#[test]
fn a_plain_call_answers() {
    let bench = Bench::native();
    let outcome = bench.run("def run(args, ctx):\n    print('hello')\n    ctx.log('seen')\n    return {'ok': True, 'content': args['a'] * 2}", json!({"a": 21}));
    assert_eq!(ok(&outcome)["content"], 42, "{outcome:?}");
    assert_eq!(outcome.stdout.text(), "hello\n");
    assert_eq!(outcome.log, ["seen"]);
}
