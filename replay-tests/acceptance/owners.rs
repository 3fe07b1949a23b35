//! What root can read, root's cage can read, whoever owns it; what an ordinary user cannot read stays closed and says so.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use metnos::sandbox::Layer;
use serde_json::json;

use crate::NOBODY;
use crate::support::{Bench, class, grant, ok};

const OTHER: u32 = 1000;

/// Reads each path and tries to change it in every way that an owner could.
const READ: &str = "
def run(args, ctx):
    import os
    found = []
    for path in args['paths']:
        try: found.append(open(path).read())
        except PermissionError: return {'ok': False, 'error_class': 'permission_denied', 'error': path}
        for change in (lambda: open(path, 'a'), lambda: os.chmod(path, 0o777), lambda: os.utime(path), lambda: os.unlink(path)):
            try: change(); found.append('changed')
            except OSError: pass
    return {'ok': True, 'found': found}
";

fn owned(path: &Path, owner: u32, mode: u32) {
    chown(path, Some(owner), Some(owner)).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn file(path: &Path, owner: u32, mode: u32) {
    std::fs::write(path, path.file_name().unwrap().as_encoded_bytes()).unwrap();
    owned(path, owner, mode);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn root_reads_single_files_of_others() {
    if !is_root() {
        eprintln!("SKIPPED root_reads_single_files_of_others: only root has files of others");
        return;
    }
    let bench = Bench::native();
    std::fs::create_dir(bench.path("closed")).unwrap();
    for (name, owner, mode) in [
        ("a", OTHER, 0o600),
        ("b", NOBODY, 0o600),
        ("c", NOBODY, 0o000),
        ("d", 0, 0o000),
        ("e", OTHER, 0o040),
        ("f", OTHER, 0o644),
        ("closed/g", OTHER, 0o600),
    ] {
        file(&bench.path(name), owner, mode);
        if name.starts_with("closed") {
            owned(&bench.path("closed"), OTHER, 0o700);
        }
        let path = bench.path(name);
        let outcome = bench.run_with(READ, json!({"paths": [path]}), vec![grant(&path, false)]);
        assert_eq!(ok(&outcome)["found"], json!([&name[name.len() - 1..]]), "{name}");
        assert_eq!(outcome.report.missing, Vec::<String>::new());
        let meta = std::fs::metadata(&path).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn root_reads_folders_of_several_owners() {
    if !is_root() {
        eprintln!("SKIPPED root_reads_folders_of_several_owners: only root has files of others");
        return;
    }
    let bench = Bench::native();
    let top = bench.path("top");
    let below = ["", "ours", "theirs", "theirs/deep", "theirs/back", "theirs/hidden"];
    for folder in below {
        std::fs::create_dir(top.join(folder)).unwrap();
    }
    let files = [
        ("theirs/deep/a", OTHER, 0o600),
        ("theirs/b", NOBODY, 0o400),
        ("theirs/back/c", 0, 0o600),
        ("ours/d", OTHER, 0o600),
        ("theirs/e", OTHER, 0o644),
    ];
    for (name, owner, mode) in files {
        file(&top.join(name), owner, mode);
    }
    file(&top.join("theirs/hidden/x"), OTHER, 0o644);
    for (folder, owner) in
        [("ours", 0), ("theirs/deep", OTHER), ("theirs/back", 0), ("theirs/hidden", OTHER), ("theirs", OTHER)]
    {
        owned(&top.join(folder), owner, 0o700);
    }
    let paths: Vec<_> = files.iter().map(|(name, ..)| top.join(name)).collect();
    for at in [top.clone(), top.join("theirs")] {
        let paths: Vec<_> = paths.iter().filter(|path| path.starts_with(&at)).collect();
        let mut folder = grant(&at, false);
        folder.masks.push(top.join("theirs/hidden"));
        let outcome = bench.run_with(READ, json!({"paths": paths}), vec![folder]);
        let wanted: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(ok(&outcome)["found"], json!(wanted), "{}", at.display());
        let mut folder = grant(&at, false);
        folder.masks.push(top.join("theirs/hidden"));
        let outcome = bench.run_with(READ, json!({"paths": [top.join("theirs/hidden/x")]}), vec![folder]);
        assert_ne!(outcome.reply.as_ref().ok().map(|reply| reply["ok"].clone()), Some(json!(true)), "a mask holds");
    }
}

/// The mount's read-only attribute is what keeps a file from the owner that it seems to have.
#[test]
fn a_mapped_owner_changes_nothing() {
    if !is_root() {
        eprintln!("SKIPPED a_mapped_owner_changes_nothing: only root has files of others");
        return;
    }
    let code = "def run(args, ctx):\n    import os\n    os.chmod(args['path'], 0o644)\n    return {'ok': True}\n";
    let call = |without: &[Layer]| {
        let bench = Bench::open(metnos::sandbox::Backend::Native, without);
        let path = bench.path("a");
        file(&path, OTHER, 0o600);
        let outcome = bench.run_with(code, json!({"path": path}), vec![grant(&path, false)]);
        (outcome.reply.is_ok(), std::fs::metadata(&path).unwrap().permissions().mode() & 0o777)
    };
    assert_eq!(call(&[]), (false, 0o600));
    assert_eq!(call(&[Layer::ReadOnlyMounts]), (true, 0o644));
}

#[test]
fn what_an_ordinary_user_cannot_read_is_permission_denied() {
    if is_root() {
        eprintln!("SKIPPED what_an_ordinary_user_cannot_read_is_permission_denied: root can");
        return;
    }
    let bench = Bench::native();
    for path in [Path::new("/etc/shadow"), Path::new("/root"), Path::new("/proc/1/environ")] {
        if std::fs::File::open(path).is_ok() || std::fs::metadata(path).is_err() {
            eprintln!("SKIPPED {}: this machine has it open, or not at all", path.display());
            continue;
        }
        let code =
            if path.is_dir() { READ.replace("open(path).read()", "str(os.listdir(path))") } else { READ.to_owned() };
        let outcome = bench.run_with(&code, json!({"paths": [path]}), vec![grant(path, false)]);
        match &outcome.reply {
            Ok(reply) => assert_eq!(reply["error_class"], "permission_denied", "{}", path.display()),
            Err(_) => assert_eq!(class(&outcome), "permission_denied", "{}: {outcome:?}", path.display()),
        }
    }
}

/// Most machines share their mounts with every copy of them; what a cage mounts on its copy must not come back.
#[test]
fn nothing_is_mounted_on_the_host() {
    if !is_root() {
        eprintln!("SKIPPED nothing_is_mounted_on_the_host: only root's mounts are taken outside of the cage");
        return;
    }
    let script = "mount --make-rshared / && exec \"$0\" --exact --ignored --nocapture owners::masks_on_shared_mounts";
    let unshared = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(output) = unshared else {
        eprintln!("SKIPPED nothing_is_mounted_on_the_host: there is no unshare");
        return;
    };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
}

#[test]
#[ignore = "run by nothing_is_mounted_on_the_host, where mounts are shared"]
fn masks_on_shared_mounts() {
    assert!(std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(" shared:"));
    let bench = Bench::native();
    let top = bench.path("top");
    std::fs::create_dir_all(top.join("hidden")).unwrap();
    let mounted = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounted();
    let mut folder = grant(&top, false);
    folder.masks.push(top.join("hidden"));
    file(&top.join("theirs"), OTHER, 0o600);
    // While it lives: what went to the host would go with the cage's own mounts.
    let outcome = std::thread::scope(|scope| {
        let waits = "def run(args, ctx):\n    import time\n    time.sleep(0.3)\n    return {'ok': True}\n";
        let call = scope.spawn(|| bench.run_with(waits, json!({}), vec![folder]));
        while !call.is_finished() {
            assert_eq!(mounted(), before);
        }
        call.join().unwrap()
    });
    ok(&outcome);
    assert_eq!(mounted(), before);
}
