//! A place in a text file and what is wrong there, shown with the line and a caret.

use std::fmt;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file, as the person named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// What is wrong with it.
    pub message: String,
}

impl std::error::Error for Located {}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gutter = self.line.to_string().len();
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{} | {}", self.line, self.text)?;
        write!(f, "{:gutter$} | {}^", "", " ".repeat(self.column.saturating_sub(1)))
    }
}

impl Located {
    /// At a byte of a file's text.
    pub fn at(file: &str, text: &str, offset: usize, message: &str) -> Self {
        let is_border = |offset: &usize| text.is_char_boundary(*offset);
        let offset = (0..=offset.min(text.len())).rev().find(is_border).unwrap_or(0);
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            text: text[start..].lines().next().unwrap_or_default().to_owned(),
            message: message.replace('\n', " "),
        }
    }

    /// Where TOML is refused.
    pub fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        // As the library says it of a list of words that are known.
        let message =
            error.message().replacen("unknown variant ", "", 1).replacen(", expected one of ", " is none of ", 1);
        let message = if error.message().starts_with("unknown variant ") { &message } else { error.message() };
        Self::at(file, text, error.span().map_or(0, |span| span.start), message)
    }
}
