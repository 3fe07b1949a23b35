//! What was wished for is composed out of the executors that ship, where that is possible.

use metnos_log::Event;
use metnos_log::event::executor::{ExecutorInstalled, LifeCycle, LifeCycleChanged, VersionPromoted};
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::machines::mnestome::{Mnestome, compose};
use metnos_projections::manifest::Manifest;
use metnos_projections::replay;

macro_rules! seeds {
    ($($name:literal),+) => {
        [$((
            include_str!(concat!("../../executors/", $name, "/manifest.toml")),
            include_str!(concat!("../../executors/", $name, "/schema.json")),
        )),+]
    };
}

const SEEDS: [(&str, &str); 12] = seeds![
    "compute_entries",
    "delete_files",
    "describe_entries",
    "filter_texts_lines",
    "find_files",
    "get_urls",
    "group_entries",
    "read_files",
    "read_files_csv",
    "read_urls_html",
    "sort_entries",
    "write_files"
];

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for (manifest, schema) in SEEDS {
        let manifest: Manifest = toml::from_str(manifest).expect("a seed's manifest");
        let (name, version) = (manifest.executor.name.clone(), manifest.executor.version.clone());
        let installed = ExecutorInstalled {
            name: name.clone(),
            version: version.clone(),
            artefacts: Vec::new(),
            manifest: serde_json::to_value(&manifest).expect("plain data").into(),
            schema: serde_json::from_str::<serde_json::Value>(schema).expect("a seed's schema").into(),
        };
        let (from, to) = (None, LifeCycle::Active);
        let (reason, by) = ("test".to_owned(), "test".to_owned());
        let events: [Event; 3] = [
            installed.into(),
            VersionPromoted { name: name.clone(), version: version.clone() }.into(),
            LifeCycleChanged { name, version, from, to, reason, by }.into(),
        ];
        for event in &events {
            catalog.apply(event);
        }
    }
    catalog
}

#[track_caller]
fn check(src: &str, wished: &str, chain: Option<&[&str]>) {
    let catalog = catalog();
    let tools = replay::tools(&catalog);
    let found = compose(&Mnestome::default(), &catalog, tools.prefilter(), (src, wished));
    let chain = chain.map(|chain| chain.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(found, chain, "{src} → {wished}");
}

#[test]
fn what_there_is_does_what_was_wished_for() {
    check("find_files", "order_files", Some(&["sort_entries"]));
    check("find_files", "sum_sizes", Some(&["compute_entries"]));
    check("read_files_csv", "group_rows", Some(&["group_entries"]));
    check("read_files", "search_lines", Some(&["filter_texts_lines"]));
}

#[test]
fn what_nothing_does_is_not_composed() {
    check("find_files", "play_music", None);
    check("read_files", "translate_texts", None);
}

#[test]
fn a_wish_never_ends_in_an_act() {
    check("find_files", "delete_files", None);
    check("read_files", "write_files", None);
}
