//! Every environment variable that Metnos reads, in one place. Nothing else in the program looks at the environment.

use std::env;
use std::path::PathBuf;

/// The variables' values, as found.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// `METNOS_HOME`: one folder for configuration, data and workspace.
    pub home: Option<PathBuf>,
    /// `METNOS_USER_DATA`: the data folder, instead of the XDG one.
    pub user_data: Option<PathBuf>,
    /// `METNOS_ENGINE`: which planner.
    pub engine: Option<String>,
    /// `METNOS_LANGUAGE`: the language where the sentence does not tell.
    pub language: Option<String>,
    /// `METNOS_AUTONOMY`: `read_only`, `supervised`, `full`.
    pub autonomy: Option<String>,
    /// `METNOS_SANDBOX`: `off`, `0`, `no`, `false` is consent to run without a cage.
    pub sandbox: Option<String>,
    /// `METNOS_SANDBOX_BACKEND`: forces `native` or `landlock`.
    pub sandbox_backend: Option<String>,
    /// `METNOS_LOG_LEVEL`: of the program's own messages on stderr.
    pub log_level: Option<String>,
    /// `METNOS_PAUSE_AT`: `point:milliseconds`, honoured by debug builds only; see `faults`.
    pub pause_at: Option<String>,
    /// `HOME`.
    pub user_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config: Option<PathBuf>,
    /// `XDG_DATA_HOME`.
    pub xdg_data: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub xdg_runtime: Option<PathBuf>,
    /// `LC_ALL`, `LC_MESSAGES` or `LANG`, the first that is set.
    pub locale: Option<String>,
    /// `TZ`.
    pub zone: Option<String>,
}

impl Variables {
    /// Reads them. An empty variable counts as unset.
    pub fn read() -> Self {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = |name: &str| path(name).filter(|path| path.is_absolute());
        Self {
            home: path("METNOS_HOME"),
            user_data: path("METNOS_USER_DATA"),
            engine: text("METNOS_ENGINE"),
            language: text("METNOS_LANGUAGE"),
            autonomy: text("METNOS_AUTONOMY"),
            sandbox: text("METNOS_SANDBOX"),
            sandbox_backend: text("METNOS_SANDBOX_BACKEND"),
            log_level: text("METNOS_LOG_LEVEL"),
            pause_at: text("METNOS_PAUSE_AT"),
            user_home: folder("HOME"),
            xdg_config: folder("XDG_CONFIG_HOME"),
            xdg_data: folder("XDG_DATA_HOME"),
            xdg_runtime: folder("XDG_RUNTIME_DIR"),
            locale: ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(text),
            zone: text("TZ"),
        }
    }
}
