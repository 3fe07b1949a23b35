//! Which of several named things may be missing without the whole request failing for it.
//!
//! It tells nothing about them: the executor finds them missing too, and its answer says so beside what was done. What is
//! missing is let through only where the rest stands for itself: not before a comparison, and not where a later step
//! changes something, for a part must not pass for the whole there.

use metnos_log::event::turn::Target;

use crate::plan::PlannedStep;
use crate::rules::shape::{self, Category};

/// Whether this target is one of several of its argument, is not there, and another one of them is without trouble.
pub(super) fn is_spared(target: &Target, all: &[Target], tool: &str, later: &[PlannedStep]) -> bool {
    let Some((class, key)) = &target.trouble else { return false };
    // An executor that sees nothing in that place can say no more than that; other troubles are told by the edge.
    let is_absent = class == "not_found" && matches!(key.as_str(), "absent" | "part_is_file");
    // What is made or written anew is absent as a rule: there the trouble is its folder's.
    let takes_it = !matches!(shape::verb(tool), "write" | "create");
    let stands_alone =
        |step: &PlannedStep| shape::category(&step.tool) != Some(Category::Act) && shape::verb(&step.tool) != "compare";
    let Some(argument) = listed(&target.pointer).filter(|_| is_absent && takes_it) else { return false };
    later.iter().all(stands_alone)
        && all.iter().any(|other| other.trouble.is_none() && listed(&other.pointer) == Some(argument))
}

/// The argument whose list holds what the pointer names: `paths` of `/paths/0`, `entries` of `/entries/3/path`.
fn listed(pointer: &str) -> Option<&str> {
    let (argument, place) = pointer.strip_prefix('/')?.split_once('/')?;
    let index = place.strip_suffix("/path").unwrap_or(place);
    index.bytes().all(|byte| byte.is_ascii_digit()).then_some(argument)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn target(pointer: &str, trouble: Option<(&str, &str)>) -> Target {
        Target {
            pointer: pointer.to_owned(),
            role: "path".to_owned(),
            given: "x".to_owned(),
            canonical: "/x".to_owned(),
            canonical_b64: None,
            kind: "absent".to_owned(),
            trouble: trouble.map(|(class, key)| (class.to_owned(), key.to_owned())),
        }
    }

    fn later(tool: &str) -> Vec<PlannedStep> {
        vec![PlannedStep { tool: tool.to_owned(), args: json!({}), provenance: BTreeMap::new() }]
    }

    #[test]
    fn one_of_several_may_be_absent_and_nothing_else() {
        let gone = Some(("not_found", "absent"));
        let good = target("/paths/0", None);
        let spared = |target: &Target, tool: &str, later: &[PlannedStep]| {
            is_spared(target, &[good.clone(), target.clone()], tool, later)
        };
        assert!(spared(&target("/paths/1", gone), "read_files", &[]));
        assert!(spared(&target("/paths/1", gone), "read_files_csv", &later("compute_entries")));
        assert!(spared(&target("/paths/1", gone), "delete_files", &[]));
        // A part must not pass for the whole.
        assert!(!spared(&target("/paths/1", gone), "read_files", &later("compare_entries")));
        assert!(!spared(&target("/paths/1", gone), "read_files", &later("write_files")));
        assert!(!spared(&target("/files/1/path", gone), "write_files", &[]));
        // Another argument's target is no other one of these.
        assert!(!spared(&target("/base_path", gone), "find_files", &[]));
        assert!(!spared(&target("/entries/1/path", gone), "get_files", &[]));
        assert!(!spared(&target("/paths/1", Some(("permission_denied", "no_permission"))), "read_files", &[]));
        let both = [target("/paths/0", gone), target("/paths/1", gone)];
        assert!(!is_spared(&both[0], &both, "read_files", &[]));
    }
}
