//! Every environment variable that Metnos reads, in one place. Nothing else in the program looks at the environment.

use std::env;
use std::ffi::OsString;
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
    /// `METNOS_SANDBOX_BACKEND`: forces `native`, `bwrap` or `landlock`.
    pub sandbox_backend: Option<String>,
    /// `METNOS_LOG_LEVEL`: of the program's own messages on stderr.
    pub log_level: Option<String>,
    /// `METNOS_HTTP_LISTEN`: where the daemon's pages are, or `off`.
    pub http_listen: Option<String>,
    /// `METNOS_TELEGRAM_BASE_URL`: where Telegram's bots are served.
    pub telegram_base_url: Option<String>,
    /// `METNOS_TELEGRAM_POLL_SECONDS`: how long Telegram holds a request for news.
    pub telegram_poll_seconds: Option<String>,
    /// `METNOS_TELEGRAM_DEFAULT_CHAT`: the chat whose first message makes it the host's, or `none`.
    pub telegram_default_chat: Option<String>,
    /// `METNOS_TELEGRAM_PROGRESS_SECONDS`: after how long a turn shows that it is at work.
    pub telegram_progress_seconds: Option<String>,
    /// `METNOS_PAUSE_AT`: `point:milliseconds`, honoured by debug builds only; see `faults`.
    pub pause_at: Option<String>,
    /// `METNOS_KILL_AT`: `append:NUMBER:before` or `:after`, or `view:NUMBER`, honoured by debug builds only; see `faults`.
    pub kill_at: Option<String>,
    /// `METNOS_CLOCK`: a file that holds the time, honoured by debug builds only; see `clock`.
    pub clock: Option<PathBuf>,
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

/// Their names.
const NAMES: [&str; 24] = [
    "METNOS_HOME",
    "METNOS_USER_DATA",
    "METNOS_ENGINE",
    "METNOS_LANGUAGE",
    "METNOS_AUTONOMY",
    "METNOS_SANDBOX",
    "METNOS_SANDBOX_BACKEND",
    "METNOS_LOG_LEVEL",
    "METNOS_HTTP_LISTEN",
    "METNOS_TELEGRAM_BASE_URL",
    "METNOS_TELEGRAM_POLL_SECONDS",
    "METNOS_TELEGRAM_DEFAULT_CHAT",
    "METNOS_TELEGRAM_PROGRESS_SECONDS",
    "METNOS_PAUSE_AT",
    "METNOS_KILL_AT",
    "METNOS_CLOCK",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "LC_ALL",
    "LC_MESSAGES",
    "LANG",
    "TZ",
];

impl Variables {
    /// Reads them. An empty variable counts as unset.
    pub fn read() -> Self {
        Self::of(|name| env::var_os(name))
    }

    /// Those that are set, as they are: for a process that carries the command out.
    pub fn found() -> Vec<(String, OsString)> {
        NAMES.iter().filter_map(|name| Some(((*name).to_owned(), env::var_os(name)?))).collect()
    }

    /// What another process found.
    pub fn given(found: &[(String, OsString)]) -> Self {
        Self::of(|name| found.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone()))
    }

    fn of(value: impl Fn(&str) -> Option<OsString>) -> Self {
        let value = |name: &str| value(name).filter(|value| !value.is_empty());
        let text = |name: &str| value(name).and_then(|value| value.into_string().ok());
        let path = |name: &str| value(name).map(PathBuf::from);
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
            http_listen: text("METNOS_HTTP_LISTEN"),
            telegram_base_url: text("METNOS_TELEGRAM_BASE_URL"),
            telegram_poll_seconds: text("METNOS_TELEGRAM_POLL_SECONDS"),
            telegram_default_chat: text("METNOS_TELEGRAM_DEFAULT_CHAT"),
            telegram_progress_seconds: text("METNOS_TELEGRAM_PROGRESS_SECONDS"),
            pause_at: text("METNOS_PAUSE_AT"),
            kill_at: text("METNOS_KILL_AT"),
            clock: path("METNOS_CLOCK"),
            user_home: folder("HOME"),
            xdg_config: folder("XDG_CONFIG_HOME"),
            xdg_data: folder("XDG_DATA_HOME"),
            xdg_runtime: folder("XDG_RUNTIME_DIR"),
            locale: ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(text),
            zone: text("TZ"),
        }
    }
}
