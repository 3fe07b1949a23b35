//! The perimeter of a guest: which paths, capabilities and changes lie within it. The host has none.
//!
//! Pure, over canonical paths: links were resolved by whoever looked the paths up. What cannot be placed lies outside.

use metnos_log::event::turn::{PlannedOp, Target};

use crate::rules::cage_plan::{ARGS, CagePlan, Places};
use crate::rules::core_paths::is_within;

/// What a guest's turns may use at all, whatever their autonomy. Everything else is the house's: its machine, its mail, its
/// programs.
const FOR_GUESTS: &[&str] = &[
    "compute:pure",
    "time:read",
    "parse:local",
    "llm:local",
    "llm:online",
    "metnos:cache",
    "dialog:input",
    "channel:in",
    "fs:read",
    "fs:write",
    "network:http",
    "network:sites",
    "metnos:read",
    "metnos:write",
];

/// Whether a guest's turn may use a capability.
pub fn is_for_guests(capability: &str) -> bool {
    FOR_GUESTS.contains(&capability)
}

/// Whether a path is one of the folders or lies below one; absolute, without links and dots.
pub fn holds(folders: &[String], path: &str) -> bool {
    let is_plain = path.starts_with('/') && !path.split('/').any(|part| matches!(part, "." | ".."));
    is_plain && folders.iter().any(|folder| folder.len() > 1 && is_within(path, folder))
}

/// The first target that lies outside.
pub fn outside<'t>(folders: &[String], targets: &'t [Target]) -> Option<&'t Target> {
    let is_inside = |target: &Target| match target.role.as_str() {
        "url" | "host" | "recipient" | "id" => true,
        // A new name in the folder of each thing that is moved; where that leads is seen in the changes.
        _ => target.canonical.starts_with("{dir}/") || holds(folders, &target.canonical),
    };
    targets.iter().find(|target| !is_inside(target))
}

/// The first place outside that a change would touch. The trash is neither inside nor outside: what is deleted goes there
/// and what is restored comes from there, by the core's own hand. What the log itself keeps lies nowhere, and where a
/// request goes was decided when its host was.
pub fn touched_outside<'o>(folders: &[String], ops: &'o [PlannedOp]) -> Option<&'o str> {
    ops.iter().filter(|op| op.is_of_files()).find_map(|op| {
        let (path, dst) = (Some(op.path.as_str()), op.dst.as_deref());
        let places = match op.op.as_str() {
            "restore" => [dst.or(path), None],
            "delete" | "link" => [path, None],
            _ => [path, dst],
        };
        places.into_iter().flatten().find(|place| !holds(folders, place))
    })
}

/// A call's plan without what lies outside.
pub fn confined(plan: &CagePlan, folders: &[String], places: &Places) -> CagePlan {
    let is_inside = |path: &str| path != ARGS && holds(folders, &places.resolve(path));
    CagePlan { mounts: plan.mounts.iter().filter(|mount| is_inside(&mount.path)).cloned().collect(), ..plan.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::policy;

    fn folders() -> Vec<String> {
        ["/m/guests/guest_1", "/home/a/photos"].map(str::to_owned).to_vec()
    }

    #[test]
    fn only_what_lies_below_the_folders_is_inside() {
        for path in ["/m/guests/guest_1", "/m/guests/guest_1/inbox/a.txt", "/home/a/photos/b"] {
            assert!(holds(&folders(), path), "{path}");
        }
        let outside = [
            "/m/guests/guest_12/a",
            "/m/guests/guest_2/a",
            "/m/guests",
            "/home/a/photosecret",
            "/home/a",
            "/",
            "",
            "guest_1/a",
            "/m/guests/guest_1/../guest_2/a",
            "/home/a/photos/./../x",
        ];
        for path in outside {
            assert!(!holds(&folders(), path), "{path}");
        }
        assert!(!holds(&[], "/a") && !holds(&["/".to_owned()], "/a") && !holds(&[String::new()], "/a"));
    }

    #[test]
    fn a_target_that_cannot_be_placed_is_outside() {
        let target = |role: &str, canonical: &str| Target {
            pointer: "/path".to_owned(),
            role: role.to_owned(),
            given: String::new(),
            canonical: canonical.to_owned(),
            canonical_b64: None,
            kind: "file".to_owned(),
            trouble: None,
        };
        let found = |role, canonical| outside(&folders(), &[target(role, canonical)]).is_some();
        assert!(!found("path", "/home/a/photos/x") && !found("target_path", "{dir}/new.txt"));
        assert!(!found("url", "https://a.test/"));
        assert!(found("path", "x") && found("target_path", "/home/a/x") && found("some_new_role", "/etc/hosts"));
    }

    #[test]
    fn a_change_is_inside_with_both_its_ends() {
        let op = |op: &str, path: &str, dst: Option<&str>| PlannedOp {
            op: op.to_owned(),
            path: path.to_owned(),
            dst: dst.map(str::to_owned),
            ..PlannedOp::default()
        };
        let touched = |op: PlannedOp| touched_outside(&folders(), &[op]).map(str::to_owned);
        let (inside, beyond, trash) = ("/home/a/photos/x", "/home/a/x", "/home/a/.local/share/Trash/files/x");
        assert_eq!(touched(op("write", inside, None)), None);
        assert_eq!(touched(op("write", beyond, None)).as_deref(), Some(beyond));
        assert_eq!(touched(op("move", inside, Some(beyond))).as_deref(), Some(beyond));
        assert_eq!(touched(op("move", beyond, Some(inside))).as_deref(), Some(beyond));
        assert_eq!(touched(op("delete", inside, Some(trash))), None);
        assert_eq!(touched(op("restore", trash, Some(inside))), None);
        assert_eq!(touched(op("restore", trash, Some(beyond))).as_deref(), Some(beyond));
    }

    #[test]
    fn guests_use_only_capabilities_that_exist_and_none_of_the_machine() {
        assert!(FOR_GUESTS.iter().all(|name| policy::registered(name).is_some()));
        for name in ["system:read", "code:exec", "mail:send", "channel:out", "no:such", "system:admin"] {
            assert!(!is_for_guests(name), "{name}");
        }
    }
}
