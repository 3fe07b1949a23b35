//! What a person pastes into a terminal.

/// A word as a shell takes it back.
pub fn as_word(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "-_=./:,+@%".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(char::is_control) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let escaped = |sign: char| match sign {
        '\'' | '\\' => format!("\\{sign}"),
        '\n' => "\\n".to_owned(),
        _ if sign.is_ascii_control() => format!("\\x{:02x}", u32::from(sign)),
        _ if sign.is_control() => format!("\\u{:04x}", u32::from(sign)),
        _ => sign.to_string(),
    };
    format!("$'{}'", word.chars().map(escaped).collect::<String>())
}
