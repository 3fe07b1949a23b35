//! No file is named after having no subject.

use super::{Finding, Tree};

const EMPTY: [&str; 8] = ["utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let says_nothing = |path: &str| {
        path.split('/').any(|part| EMPTY.contains(&part.split('.').next().unwrap_or_default().to_lowercase().as_str()))
    };
    let found = tree.files().iter().filter(|file| says_nothing(&file.path));
    found.map(|file| Finding::error(&file.path, 0, "its name says nothing: name it after its subject")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_name_is_found_in_file_and_folder() {
        let tree = Tree::of(&[
            ("src/utils.rs", ""),
            ("src/common/a.rs", ""),
            ("executors/x/Helpers.py", ""),
            ("src/common_ground.rs", ""),
            ("src/wire.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 3);
    }
}
