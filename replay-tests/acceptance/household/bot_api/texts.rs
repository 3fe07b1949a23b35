//! How requests are read, and what HTML the Bot API takes.

use serde_json::{Map, Value};

/// The fields of a request, whichever way it brings them, and the file among them: its name and its bytes.
pub(super) type Fields = (Value, Option<(String, Vec<u8>)>);

pub(super) fn fields(kind: &str, body: &[u8], query: &str) -> Option<Fields> {
    if !query.is_empty() {
        return None; // Nothing here sends one; a token or a text in an address would be logged by every proxy.
    }
    if let Some(boundary) = kind.strip_prefix("multipart/form-data; boundary=") {
        return multipart(boundary.trim_matches('"'), body);
    }
    if body.is_empty() {
        return Some((Value::Object(Map::new()), None));
    }
    if kind.starts_with("application/json") {
        return Some((serde_json::from_slice(body).ok().filter(Value::is_object)?, None));
    }
    if kind.starts_with("application/x-www-form-urlencoded") {
        let fields = reqwest::Url::parse(&format!("http://form/?{}", std::str::from_utf8(body).ok()?)).ok()?;
        let fields = fields.query_pairs().map(|(name, text)| (name.clone().into_owned(), of_form(&name, &text)));
        return Some((Value::Object(fields.collect()), None));
    }
    None
}

/// A form has only texts; what is not one is JSON.
fn of_form(name: &str, text: &str) -> Value {
    let is_text = matches!(name, "text" | "caption" | "parse_mode" | "callback_query_id" | "file_id");
    if is_text { text.into() } else { serde_json::from_str(text).unwrap_or_else(|_| text.into()) }
}

fn multipart(boundary: &str, body: &[u8]) -> Option<Fields> {
    let (mut fields, mut file) = (Map::new(), None);
    let mark = format!("--{boundary}").into_bytes();
    let mut rest = body.get(find(body, &mark)? + mark.len()..)?;
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = find(part, &[b"\r\n", mark.as_slice()].concat())?;
        let (part, after) = (&part[..end], &part[end + 2 + mark.len()..]);
        let split = find(part, b"\r\n\r\n")?;
        let (head, value) = (std::str::from_utf8(&part[..split]).ok()?, &part[split + 4..]);
        let named = |name: &str| {
            let (_, after) = head.split_once(&format!(" {name}=\""))?;
            Some(after.split_once('"')?.0.to_owned())
        };
        match (named("name")?, named("filename")) {
            (name, Some(file_name)) => {
                // It is the document itself, or a field of that name says that it is.
                if name == "document" {
                    fields.insert(name.clone(), format!("attach://{name}").into());
                }
                file = Some((file_name, value.to_vec()));
            }
            (name, None) => {
                let text = std::str::from_utf8(value).ok()?;
                let value = of_form(&name, text);
                fields.insert(name, value);
            }
        }
        rest = after;
    }
    rest.starts_with(b"--").then_some((Value::Object(fields), file))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// What a person sees of HTML, or what is wrong with it.
pub(super) fn seen(html: &str) -> Result<String, String> {
    const TAGS: [&str; 9] = ["b", "strong", "i", "em", "u", "s", "code", "pre", "blockquote"];
    let (mut text, mut open, mut rest) = (String::new(), Vec::new(), html);
    while let Some(letter) = rest.chars().next() {
        match letter {
            '<' => {
                let end = rest.find('>').ok_or("can't parse entities: unclosed start tag")?;
                let (tag, is_end) = match rest[1..end].strip_prefix('/') {
                    Some(tag) => (tag, true),
                    None => (&rest[1..end], false),
                };
                if !TAGS.contains(&tag) {
                    return Err(format!("can't parse entities: Unsupported start tag \"{tag}\""));
                }
                if !is_end {
                    open.push(tag);
                } else if open.pop() != Some(tag) {
                    return Err(format!("can't parse entities: Unmatched end tag \"{tag}\""));
                }
                rest = &rest[end + 1..];
            }
            '&' => {
                let known = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"')];
                let found = known.into_iter().find(|(name, _)| rest.starts_with(name));
                let (name, letter) = found.unwrap_or(("&", '&'));
                text.push(letter);
                rest = &rest[name.len()..];
            }
            letter => {
                text.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    if let Some(tag) = open.pop() {
        return Err(format!("can't parse entities: Can't find end tag corresponding to start tag {tag}"));
    }
    Ok(text)
}
