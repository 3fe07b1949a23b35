//! Each layer made to fail in turn: the report names it, and what needs a full cage is not begun in such a one.

use metnos::sandbox::{Layer, Level};
use serde_json::json;

use crate::support::{Bench, caged};

const LAYERS: [Layer; 10] = [
    Layer::PidNamespace,
    Layer::NetNamespace,
    Layer::PrivateRoot,
    Layer::Landlock,
    Layer::Seccomp,
    Layer::Limits,
    Layer::Watchdog,
    Layer::Capabilities,
    Layer::Inheritance,
    Layer::ReadOnlyMounts,
];
const SAYS: &str = "def run(args, ctx):\n    print('it runs', flush=True)\n    return {'ok': True}\n";

#[test]
fn without_a_layer_it_is_named_and_no_byte_runs_that_needs_them_all() {
    // An older program may have left it.
    let made = || std::path::Path::new("/.metnos-cage").exists();
    let before = made();
    for backend in caged() {
        for layer in LAYERS {
            let about = format!("{} without {layer:?}", backend.name());
            let mut bench = Bench::open(backend, &[layer]);
            let ran = bench.run(SAYS, json!({}));
            assert!(ran.reply.is_ok() && ran.stdout.text() == "it runs\n", "{about}: {ran:?}");
            assert_eq!(ran.report.level, Level::Partial, "{about}");
            let names = |missing: &[String]| missing.iter().any(|missing| missing.contains(&format!("{layer:?}")));
            assert!(names(&ran.report.missing), "{about}: {:?}", ran.report);
            assert!(names(&bench.sandbox.capabilities().missing), "{about}: the machine's own report");
            bench.needs_full = true;
            let refused = bench.run(SAYS, json!({}));
            let failure = refused.reply.unwrap_err();
            assert_eq!(failure.class, "cage_refused", "{about}: {failure:?}");
            assert!(failure.message.contains(&format!("{layer:?}")), "{about}: {}", failure.message);
            assert!(refused.stdout.bytes.is_empty(), "{about}: a byte of it ran");
        }
        let mut whole = Bench::open(backend, &[]);
        whole.needs_full = true;
        let (ran, level) = (whole.run(SAYS, json!({})), whole.sandbox.capabilities().level);
        assert_eq!(ran.reply.is_ok(), level == Level::Full, "{}: {ran:?}", backend.name());
    }
    assert_eq!(made(), before, "nothing is made on the host");
}
