//! Server-sent events, as far as chat completions use them: `data:` lines, comments, an end that is said aloud.

/// What one line of a stream says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Data.
    Data(&'a str),
    /// The end.
    Done,
    /// A comment, a blank, or a field that means nothing here.
    Nothing,
}

/// Reads a line, its end taken off.
pub(super) fn line(text: &str) -> Line<'_> {
    let text = text.trim_end_matches('\r');
    match text.strip_prefix("data:").map(str::trim) {
        Some("[DONE]") => Line::Done,
        Some(data) if !data.is_empty() => Line::Data(data),
        _ => Line::Nothing,
    }
}

/// Bytes cut into lines, whatever pieces they come in.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Takes a piece in; gives the lines that it ended.
    pub(super) fn take(&mut self, piece: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let whole = std::mem::take(&mut self.rest);
                lines.push(String::from_utf8_lossy(&whole[..whole.len() - 1]).into_owned());
            }
        }
        lines
    }

    /// What came after the last line's end.
    pub(super) fn rest(self) -> String {
        String::from_utf8_lossy(&self.rest).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let text = "data: {\"a\":\"è\"}\r\n\r\n: ping\ndata: [DONE]\nleft";
        for size in [1, 2, 7, 100] {
            let mut lines = Lines::default();
            let found: Vec<String> = text.as_bytes().chunks(size).flat_map(|piece| lines.take(piece)).collect();
            let read: Vec<Line<'_>> = found.iter().map(|text| line(text)).collect();
            assert_eq!(read, [Line::Data("{\"a\":\"è\"}"), Line::Nothing, Line::Nothing, Line::Done]);
            assert_eq!(lines.rest(), "left");
        }
        assert_eq!(line("event: message"), Line::Nothing);
    }
}
