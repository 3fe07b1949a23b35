//! Configuration, resolved once: flags, then environment, then `metnos.toml`, then defaults.

pub mod credentials;
pub mod dirs;
pub mod keeping;
pub mod llm;
pub mod settings;
pub mod variables;

pub use dirs::{Dirs, resolved};
pub use settings::{ConfigError, Flags, Settings, Source};
pub use variables::Variables;
