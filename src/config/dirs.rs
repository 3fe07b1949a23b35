//! Where things lie: one folder with `--home`, the XDG folders without (design 1-architecture, «Directories»).

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use metnos_projections::rules::cage_plan::Places;
use metnos_projections::rules::core_paths::OwnDirs;

use super::Variables;

/// The folders of one instance, absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// `metnos.toml`, keys, credentials.
    pub config: PathBuf,
    /// The log and what is derived from it.
    pub data: PathBuf,
    /// Executors, exports, inbox: the owner may look here.
    pub workspace: PathBuf,
    /// Sockets and scratch files.
    pub runtime: PathBuf,
    /// The person's own home folder.
    pub user_home: PathBuf,
}

/// Why there is no place for an instance.
#[derive(Debug, thiserror::Error)]
pub enum DirsError {
    /// Neither `--home` nor `HOME`.
    #[error("neither --home nor the variable HOME says where Metnos lives")]
    NoHome,
    /// A name that the rules about what nobody touches, which are written in text, could not compare.
    #[error("the folder {path} has a name that is no UTF-8 text")]
    NoText {
        /// The folder.
        path: PathBuf,
    },
    /// A folder cannot be made.
    #[error("the folder {path} cannot be created")]
    Create {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Dirs {
    /// Resolves the folders; makes none.
    pub fn resolve(home: Option<&Path>, variables: &Variables) -> Result<Self, DirsError> {
        let dirs = Self::found(home, variables)?;
        let all = [&dirs.config, &dirs.data, &dirs.workspace, &dirs.runtime, &dirs.user_home];
        let odd = all.into_iter().find(|path| path.to_str().is_none()).cloned();
        odd.map_or(Ok(dirs), |path| Err(DirsError::NoText { path }))
    }

    fn found(home: Option<&Path>, variables: &Variables) -> Result<Self, DirsError> {
        let user_home = Self::user_home(variables);
        if let Some(home) = home.or(variables.home.as_deref()) {
            let home =
                std::path::absolute(home).map_err(|source| DirsError::Create { path: home.to_owned(), source })?;
            // The folder may be named through links; what is compared with canonical paths must be canonical.
            let home = home.canonicalize().unwrap_or(home);
            return Ok(Self {
                config: home.join("config"),
                data: home.join("data"),
                workspace: home.join("workspace"),
                runtime: home.join("data/run"),
                user_home,
            });
        }
        if variables.user_home.is_none() && user_home == Path::new("/") {
            return Err(DirsError::NoHome);
        }
        let config = variables.xdg_config.clone().unwrap_or_else(|| user_home.join(".config")).join("metnos");
        let data = variables.user_data.clone().unwrap_or_else(|| {
            variables.xdg_data.clone().unwrap_or_else(|| user_home.join(".local/share")).join("metnos")
        });
        let runtime = variables.xdg_runtime.as_ref().map_or_else(|| data.join("run"), |runtime| runtime.join("metnos"));
        Ok(Self { config, data, workspace: user_home.join("metnos"), runtime, user_home })
    }

    /// The person's own folder: what `HOME` says, or the account.
    pub fn user_home(variables: &Variables) -> PathBuf {
        variables.user_home.clone().or_else(account_home).unwrap_or_else(|| PathBuf::from("/"))
    }

    /// Makes every folder, readable by its owner only.
    pub fn create(&self) -> Result<(), DirsError> {
        let folders = [
            self.config.join("keys"),
            self.data.join("log"),
            self.data.join("projections"),
            self.data.join("cages"),
            self.workspace.join("executors"),
            self.workspace.join(".audit"),
            self.workspace.join("inbox"),
            self.runtime.clone(),
        ];
        folders.iter().try_for_each(|path| {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|source| DirsError::Create { path: path.clone(), source })
        })
    }

    /// The folders of the home: the one that holds all of it, where one does.
    pub fn roots(&self) -> Vec<PathBuf> {
        let own = [&self.config, &self.data, &self.workspace];
        let home = self.data.parent().filter(|home| own.iter().all(|folder| folder.parent() == Some(home)));
        home.map_or_else(|| own.map(Clone::clone).to_vec(), |home| vec![home.to_owned()])
    }

    /// Whether a path leads into the home, by whatever name.
    pub fn hold(&self, path: &Path) -> bool {
        let path = resolved(path);
        self.roots().iter().any(|root| path.starts_with(resolved(root)))
    }

    /// The log's file.
    pub fn log(&self) -> PathBuf {
        self.data.join("log/events.redb")
    }

    /// What the symbols of a cage's plan stand for.
    pub fn places(&self) -> Places {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Places { home: text(&self.user_home), workspace: text(&self.workspace), runtime: text(&self.runtime) }
    }

    /// The folders that no executor sees, for the guard.
    pub fn own(&self) -> OwnDirs {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        OwnDirs { config: text(&self.config), data: text(&self.data), audit: text(&self.workspace.join(".audit")) }
    }
}

/// Where a path leads: as far as it is there, links are followed.
pub fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => resolved(above).join(name),
        // `new/..`: the folder above one that is yet to be made.
        (Some(above), None) => resolved(above).parent().map_or_else(PathBuf::new, Path::to_owned),
        (None, _) => path.to_owned(),
    }
}

/// The home folder that the account database names, for processes without `HOME`.
fn account_home() -> Option<PathBuf> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = accounts.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').nth(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
}
