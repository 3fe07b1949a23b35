//! An answer put together from the chunks of a stream, or read from one body: OpenAI's chat completions with what llama-server
//! adds. Missing and unknown fields are no error; what is no JSON is.

use std::collections::BTreeMap;

use metnos_projections::rules::proposer::{Answer, Call};
use serde_json::Value;

/// The longest thought that is kept beside an answer, in bytes.
const REASONING_MAX: usize = 64 << 10;

/// An answer in the making.
#[derive(Debug, Default)]
pub(super) struct Building {
    content: String,
    reasoning: String,
    calls: BTreeMap<u64, Call>,
    finish: Option<String>,
    /// Tokens.
    pub(super) usage: Value,
    /// Times.
    pub(super) timings: Value,
}

impl Building {
    /// Takes one chunk, or a whole completion, in; gives the words that it added.
    pub(super) fn take(&mut self, chunk: &Value) -> String {
        for (name, place) in [("usage", &mut self.usage), ("timings", &mut self.timings)] {
            if let Some(found) = chunk.get(name).filter(|found| found.is_object()) {
                *place = found.clone();
            }
        }
        let Some(choice) = chunk.pointer("/choices/0") else { return String::new() };
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        let part = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        let text = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
        let thought = if text("reasoning_content").is_empty() { text("reasoning") } else { text("reasoning_content") };
        let room = REASONING_MAX.saturating_sub(self.reasoning.len());
        self.reasoning.extend(thought.chars().take(room));
        let said = text("content").to_owned();
        self.content.push_str(&said);
        for (at, call) in (0..).zip(part.get("tool_calls").and_then(Value::as_array).into_iter().flatten()) {
            self.take_call(at, call);
        }
        said
    }

    /// Pieces of one call share their index; its name and id come once, its arguments bit by bit.
    fn take_call(&mut self, at: u64, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64).unwrap_or(at);
        let call = self.calls.entry(index).or_default();
        let text = |pointer: &str| piece.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if call.id.is_empty() {
            text("/id").clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            text("/function/name").clone_into(&mut call.name);
        }
        match piece.pointer("/function/arguments") {
            // Some servers send an object where a text is due.
            Some(Value::Object(map)) => call.arguments = Value::Object(map.clone()).to_string(),
            Some(Value::String(more)) => call.arguments.push_str(more),
            _ => {}
        }
    }

    /// Whether the server said that the answer is whole.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The answer.
    pub(super) fn answer(self) -> Answer {
        let (content, thought) = without_thought(&self.content);
        let reasoning = if self.reasoning.is_empty() { thought } else { Some(self.reasoning) };
        Answer {
            content: Some(content).filter(|content| !content.is_empty()),
            calls: self.calls.into_values().collect(),
            finish: self.finish,
            reasoning,
        }
    }
}

/// The words without a thought that a server left before them.
fn without_thought(content: &str) -> (String, Option<String>) {
    let Some(rest) = content.trim_start().strip_prefix("<think>") else { return (content.to_owned(), None) };
    match rest.split_once("</think>") {
        Some((thought, words)) => (words.trim_start().to_owned(), Some(thought.trim().to_owned())),
        None => (String::new(), Some(rest.trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(chunks: &[Value]) -> Answer {
        let mut building = Building::default();
        for chunk in chunks {
            building.take(chunk);
        }
        building.answer()
    }

    fn delta(delta: &Value) -> Value {
        json!({ "choices": [{ "delta": delta, "finish_reason": null }] })
    }

    #[test]
    fn pieces_of_several_calls_are_put_together_by_their_index() {
        let piece = |index: u64, id: Value, name: Value, arguments: &str| {
            delta(
                &json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] }),
            )
        };
        let answer = built(&[
            delta(&json!({ "role": "assistant", "content": null })),
            piece(1, json!("b"), json!("two"), "{\"x\""),
            piece(0, json!("a"), json!("one"), ""),
            piece(1, Value::Null, Value::Null, ":1}"),
            piece(0, Value::Null, Value::Null, "{}"),
            json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
            json!({ "choices": [], "usage": { "total_tokens": 3 } }),
        ]);
        let calls: Vec<(&str, &str, &str)> =
            answer.calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, [("a", "one", "{}"), ("b", "two", "{\"x\":1}")]);
        assert_eq!((answer.content, answer.finish.as_deref()), (None, Some("tool_calls")));
    }

    #[test]
    fn a_whole_body_and_odd_servers_are_read() {
        let whole =
            built(&[json!({ "choices": [{ "finish_reason": "stop", "message": { "content": "hi", "tool_calls": [
            { "function": { "name": "one", "arguments": { "a": 1 } } }, { "function": { "name": "two" } } ] } }] })]);
        assert_eq!(whole.calls[0].arguments, "{\"a\":1}");
        assert_eq!((whole.calls[1].name.as_str(), whole.content.as_deref()), ("two", Some("hi")));
        let thought =
            built(&[delta(&json!({ "content": "<think>hm" })), delta(&json!({ "content": "m</think>\n\nyes" }))]);
        assert_eq!((thought.content.as_deref(), thought.reasoning.as_deref()), (Some("yes"), Some("hmm")));
        let aloud = built(&[delta(&json!({ "reasoning_content": "hm", "content": "yes" }))]);
        assert_eq!((aloud.content.as_deref(), aloud.reasoning.as_deref()), (Some("yes"), Some("hm")));
        for odd in
            [json!({}), json!({ "choices": {} }), json!([1]), json!({ "choices": [{ "delta": 3 }] }), Value::Null]
        {
            assert_eq!(built(&[odd]), Answer::default());
        }
    }
}
