//! A cold call in each cage beside a bare interpreter that does the same work.

use std::path::{Path, PathBuf};

use metnos::sandbox::{Backend, Sandbox, Settings};
use serde_json::json;

use crate::bursts::{Rival, take_turns, timed};
use crate::table::Table;
use crate::{cage, history};

const ROUNDS: usize = 25;
const CODE: &str = "def run(args, ctx):\n    return {'ok': True, 'content': args['n'] + 1}\n";

/// The helper: the release build of `metnos` (with the small `metnos-cage` beside it) where there is one, else this program,
/// which loads slower.
pub(crate) fn helper() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let built = own.parent().and_then(Path::parent).map(|target| target.join("metnos"));
    built.filter(|path| path.exists()).unwrap_or(own)
}

pub(crate) fn run() -> Table {
    let folder = history::folder();
    let args = json!({ "n": 41 });
    let open = |backend| {
        let mut settings = Settings::new(helper(), folder.path().join("runtime"));
        settings.forced = Some(backend);
        Sandbox::open(&settings)
    };
    std::fs::create_dir(folder.path().join("runtime")).expect("a new folder");
    let mut table = Table::new(
        &["call", "p50 ms", "× bare", "isolation"],
        "the same small program, cold; bare takes and gives JSON by the module json, most of its time beyond -c pass",
    );
    let cages: Vec<(Backend, Sandbox)> = [Backend::Native, Backend::Landlock]
        .into_iter()
        .filter_map(|backend| match open(backend) {
            Ok(sandbox) => Some((backend, sandbox)),
            Err(error) => {
                table.row(vec![backend.name().to_owned(), "-".to_owned(), "-".to_owned(), error.to_string()]);
                None
            }
        })
        .collect();
    let Some((_, first)) = cages.first() else { return table };
    let python = first.interpreter().path();
    let mut rivals: Vec<Rival<'_>> = vec![
        Box::new(|| timed(|| assert_eq!(cage::bare(&python, cage::PLAIN, CODE, &args)["content"], 42))),
        Box::new(|| timed(|| cage::nothing(&python))),
    ];
    let mut names = vec![
        ("bare python3 -I -S".to_owned(), "none".to_owned()),
        ("python3 -I -S -c pass".to_owned(), "none".to_owned()),
    ];
    for (backend, sandbox) in &cages {
        rivals.push(Box::new(|| timed(|| assert_eq!(cage::caged(sandbox, folder.path(), CODE, &args)["content"], 42))));
        names.push((format!("cage: {}", backend.name()), format!("{:?}", sandbox.capabilities().level).to_lowercase()));
    }
    for ((name, level), figure) in names.into_iter().zip(take_turns(ROUNDS, &mut rivals)) {
        let milliseconds = format!("{:.1}", figure.median.as_secs_f64() * 1e3);
        table.row(vec![name, milliseconds, format!("{:.2}", figure.ratio), level]);
    }
    table
}
