//! A request to a model as a value, and its body as chat completions (OpenAI's, as llama-server speaks it).
//!
//! The body is made here, so that a turn records exactly what was sent, and a replay makes the same.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Rules and facts.
    System(String),
    /// The person's words.
    User(String),
    /// What the model said.
    Assistant {
        /// Its words.
        content: Option<String>,
        /// Its calls.
        calls: Vec<Call>,
    },
    /// The outcome of one of its calls.
    Tool {
        /// The call.
        call: String,
        /// The outcome, as JSON.
        content: String,
    },
}

/// A tool call of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Names it within the conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON, if it did well.
    pub arguments: String,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Its calls, in order.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// Why it ended: `stop`, `length`, `tool_calls`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// What it thought aloud before; never sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// A tool as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// As it likes.
    #[default]
    Auto,
    /// No more: it is to answer.
    None,
}

impl Choice {
    /// As it is written. llama-server reads it as a text only.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
        }
    }
}

/// A request, whoever serves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools, sorted by name.
    pub tools: Vec<Offer>,
    /// Whether they may be called.
    pub choice: Choice,
    /// The most tokens of the answer.
    pub max_tokens: u32,
    /// Whether it is to think first; as the model likes when absent.
    pub think: Option<bool>,
    /// Draws other words than before.
    pub seed: Option<u32>,
}

/// The kind of server that needs to be told how to think, and takes the older name for the most tokens.
pub const LLAMACPP: &str = "llamacpp";

/// The body of a chat completion, streamed.
pub fn chat(provider: &str, request: &Request) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        body["tool_choice"] = request.choice.name().into();
    }
    let is_llama = provider == LLAMACPP;
    body[if is_llama { "max_tokens" } else { "max_completion_tokens" }] = request.max_tokens.into();
    if let Some(seed) = request.seed {
        body["seed"] = seed.into();
    }
    if let Some(think) = request.think.filter(|_| is_llama) {
        body["chat_template_kwargs"] = json!({ "enable_thinking": think });
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({ "role": "system", "content": text }),
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Tool { call, content } => json!({ "role": "tool", "tool_call_id": call, "content": content }),
        Message::Assistant { content, calls } => {
            let mut said = Map::new();
            said.insert("role".to_owned(), "assistant".into());
            // Neither words nor calls is refused by the server.
            let words = content.clone().or_else(|| calls.is_empty().then(String::new));
            said.insert("content".to_owned(), words.into());
            if !calls.is_empty() {
                said.insert("tool_calls".to_owned(), calls.iter().map(call).collect());
            }
            Value::Object(said)
        }
    }
}

fn call(call: &Call) -> Value {
    // What is no JSON object is not sent back: the server's template would read it.
    let is_object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if is_object { call.arguments.as_str() } else { "{}" };
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn tool(offer: &Offer) -> Value {
    json!({
        "type": "function",
        "function": { "name": offer.name, "description": offer.description, "parameters": offer.schema },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let call = Call { id: "c1".to_owned(), name: "get_now".to_owned(), arguments: "{\"a\":".to_owned() };
        Request {
            model: "m".to_owned(),
            messages: vec![
                Message::System("s".to_owned()),
                Message::User("u".to_owned()),
                Message::Assistant { content: None, calls: vec![call] },
                Message::Tool { call: "c1".to_owned(), content: "{}".to_owned() },
                Message::Assistant { content: None, calls: Vec::new() },
            ],
            tools: vec![Offer { name: "get_now".to_owned(), description: "d".to_owned(), schema: json!({}) }],
            choice: Choice::Auto,
            max_tokens: 9,
            think: Some(false),
            seed: Some(1),
        }
    }

    #[test]
    fn each_kind_of_server_gets_what_it_knows() {
        let llama = chat(LLAMACPP, &request());
        assert_eq!(
            (&llama["max_tokens"], &llama["chat_template_kwargs"]["enable_thinking"]),
            (&json!(9), &json!(false))
        );
        assert_eq!(
            (&llama["tool_choice"], &llama["seed"], &llama["stream"]),
            (&json!("auto"), &json!(1), &json!(true))
        );
        let other = chat("openai", &request());
        assert_eq!((&other["max_completion_tokens"], &other["max_tokens"]), (&json!(9), &Value::Null));
        assert_eq!(other.get("chat_template_kwargs"), None);
        let alone = chat("openai", &Request { tools: Vec::new(), seed: None, ..request() });
        assert_eq!([alone.get("tools"), alone.get("tool_choice"), alone.get("seed")], [None; 3]);
    }

    #[test]
    fn what_the_model_broke_is_not_sent_back() {
        let body = chat(LLAMACPP, &request());
        assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}");
        assert_eq!(body["messages"][2]["content"], Value::Null);
        assert_eq!(body["messages"][4], json!({ "role": "assistant", "content": "" }));
    }
}
