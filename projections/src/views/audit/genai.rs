//! The names of OpenTelemetry's semantic conventions, as of one version; nothing else in this program spells them. The GenAI
//! part of them is in development: another version may name things otherwise.

/// The version of the semantic conventions.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

/// What is done: [`CHAT`], [`EXECUTE_TOOL`], [`INVOKE_AGENT`].
pub const OPERATION: &str = "gen_ai.operation.name";
/// A model is asked.
pub const CHAT: &str = "chat";
/// A tool is called.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// An agent is at work.
pub const INVOKE_AGENT: &str = "invoke_agent";

/// Who serves the model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The agent.
pub const AGENT: &str = "gen_ai.agent.name";
/// The model that was asked for.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The most tokens of an answer.
pub const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Why the answer ended, as a list.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens of the request.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens of the answer.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// The tool.
pub const TOOL: &str = "gen_ai.tool.name";
/// What kind of tool it is.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// A tool that is run where the agent is.
pub const FUNCTION: &str = "function";
/// The call of the tool.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// The class of an error.
pub const ERROR_TYPE: &str = "error.type";
/// The service.
pub const SERVICE: &str = "service.name";
/// Which of its instances.
pub const SERVICE_INSTANCE: &str = "service.instance.id";
