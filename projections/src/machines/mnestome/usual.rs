//! The pairs that usually follow each other, known before anything was observed (design 1-architecture, «First run»): the
//! commonest steps of the sentences that `prompts/usage.tsv` was learned from.

use metnos_log::Event;
use metnos_log::event::mnestome::MnestsSeeded;

use super::Mnestome;
use crate::machines::catalog::Catalog;

const PAIRS: [(&str, &str); 16] = [
    ("find_files", "sort_entries"),
    ("find_files", "compute_entries"),
    ("find_files", "move_files"),
    ("find_files", "delete_files"),
    ("find_files", "compress_files"),
    ("find_files", "read_files"),
    ("find_files", "group_entries"),
    ("read_files_csv", "filter_entries"),
    ("read_files_csv", "sort_entries"),
    ("read_files_csv", "compute_entries"),
    ("read_files_csv", "group_entries"),
    ("read_files", "filter_texts_lines"),
    ("read_files", "compare_entries"),
    ("filter_entries", "compute_entries"),
    ("get_processes", "sort_entries"),
    ("get_urls", "write_files"),
];

/// The event of the first run: those pairs of which both executors are active. Nothing where it was written before.
pub fn seed(mnestome: &Mnestome, catalog: &Catalog) -> Vec<Event> {
    if mnestome.is_seeded {
        return Vec::new();
    }
    let version = |name: &str| catalog.active(name).map(|(_, version, _)| version.to_owned());
    let pair = |(src, dst): &(&str, &str)| Some([(*src).to_owned(), version(src)?, (*dst).to_owned(), version(dst)?]);
    let pairs: Vec<[String; 4]> = PAIRS.iter().filter_map(pair).collect();
    if pairs.is_empty() { Vec::new() } else { vec![MnestsSeeded { pairs }.into()] }
}
