/** Names of OpenTelemetry's semantic conventions for generative AI, version 1.40.0, whose status is "Development". */
export const NAMES = {
  operation: "gen_ai.operation.name",
  conversation: "gen_ai.conversation.id",
  agent: "gen_ai.agent.name",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  input: "gen_ai.usage.input_tokens",
  output: "gen_ai.usage.output_tokens",
  cacheRead: "gen_ai.usage.cache_read.input_tokens",
  cacheWrite: "gen_ai.usage.cache_creation.input_tokens",
  asked: "gen_ai.input.messages",
  answered: "gen_ai.output.messages",
  error: "error.type",
} as const;

/** The operations among those that the conventions name. */
export const CHAT = "chat";
export const AGENT = "invoke_agent";
export const TOOL = "execute_tool";

/** The variable that lets texts into spans. */
export const CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
/** The variable that has the headers of requests, with keys. */
export const HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
