import type { AssistantMessage, Context, Message } from "belay-pi-ai";
import type { Json } from "../../../runtime/index.ts";
import { isRecord, withoutUndefined } from "../../platform/json.ts";
import type { ModelAnswer, ModelRequest } from "../port.ts";
import { type AskedModel, type FormPart, formOf } from "./answer-form.ts";
import { type ParameterPart, placedParameters, refusedParameter } from "./parameters.ts";

/** The part of a request that depends on its provider. */
export interface Asking {
  /** The tools of the request; none if they give way to the form of the answer. */
  readonly tools: ModelRequest["tools"];
  /** Puts a conversation as the chat template of the model takes it. */
  put(context: Context): Context;
  /** Changes the body that pi-ai has written. */
  shape(body: unknown): unknown;
  /** Facts about the body as it was sent. */
  sent(): Pick<ModelAnswer, "isConstrained" | "ignored">;
  /**
   * True if the provider refused a part of the request that it can do without. The process
   * remembers it, so the next request goes without the part.
   */
  adapt(said: string, status: number | null): boolean;
}

/** A part of a request that a server may refuse. */
type Part = FormPart | "limit" | Droppable | TemplatePart | ParameterPart;

/** Fields of chat completions that a server may not know, and that an answer does not need. */
const DROPPABLE = ["stream_options", "reasoning_effort", "chat_template_kwargs", "thinking_budget_tokens"] as const;
type Droppable = (typeof DROPPABLE)[number];

/**
 * Words of chat templates about what they have no place for. Some count a system prompt among the
 * roles that alternate.
 */
const TEMPLATES = {
  "system prompt":
    /system role (?:is )?not supported|only user and assistant roles are supported!|roles must alternate/i,
  "calls together": /single tool-?calls? at once/i,
} as const;
type TemplatePart = keyof typeof TEMPLATES;

/**
 * Decides what a request asks of its provider, by the API and by what the model has refused before.
 */
export function openAsking(asked: AskedModel, request: ModelRequest): Asking {
  const { model } = asked;
  const key = `${model.baseUrl} ${model.provider}/${model.id}`;
  const refused = REFUSED.get(key) ?? NONE;
  const form = formOf(asked, request, refused);
  const sent = new Set<Part>();
  const ignored: string[] = [];
  let isConstrained = form?.waits && !form.isRefused ? false : undefined;
  let parameters: readonly ParameterPart[] = [];

  function shape(written: unknown): unknown {
    if (!isRecord(written)) return written;
    const isChat = model.api === "openai-completions";
    let body = isChat ? knownFields(withRoom(written, asked, request), refused, sent, ignored) : written;
    if (request.shared !== undefined) body = withSharedBeginning(model.api, body, request.shared);
    const placed = placedParameters(model.api, body, request, refused);
    body = withFields(body, placed.fields);
    ignored.push(...placed.ignored);
    parameters = request.post ? placedParameters(model.api, body, request, NONE).parts : placed.parts;
    if (form === null || form.isRefused || form.waits) return body;
    sent.add(form.part);
    isConstrained = true;
    return withFields(body, form.fields);
  }

  return {
    tools: form?.tools ?? request.tools,
    put(whole) {
      const hasSystem = !refused.has("system prompt");
      const isTogether = !refused.has("calls together");
      if (hasSystem) sent.add("system prompt");
      if (isTogether) sent.add("calls together");
      const context = hasSystem ? whole : withoutSystem(whole);
      return isTogether ? context : { ...context, messages: oneByOne(context.messages) };
    },
    shape,
    sent: () => withoutUndefined({ isConstrained, ignored: ignored.length > 0 ? ignored : undefined }),
    adapt(said, status) {
      // An error in a stream may come without a status.
      if (status !== null && !REFUSING.includes(status)) return false;
      const words = said.slice(0, SEEN_CHARS);
      // The row of a batch may have been written before the process learned of the refusal.
      const parts: readonly Part[] = request.post
        ? [...sent, ...(form && !form.waits ? [form.part] : []), "limit"]
        : [...sent];
      const about = parts.filter((one) => isAbout(words, one));
      const ofForm = about.find((one) => one.startsWith("schema"));
      const part = ofForm ?? refusedParameter(words, parameters) ?? about[0];
      if (part === undefined) return false;
      remember(key, part);
      if (part.startsWith("schema {") && !(OF_SCHEMA.test(words) && isFirstSchema(key))) remember(key, "schema");
      return true;
    },
  };
}

/** Parts that models have refused in this process, by their addresses and names. */
const REFUSED = new Map<string, Set<Part>>();
const MOST_MODELS = 200;
const NONE: ReadonlySet<Part> = new Set();

function remember(key: string, part: Part): void {
  const parts = REFUSED.get(key) ?? new Set();
  REFUSED.delete(key);
  REFUSED.set(key, parts.add(part));
  const [oldest] = REFUSED.keys();
  if (REFUSED.size > MOST_MODELS && oldest !== undefined) REFUSED.delete(oldest);
}

/** True until a second schema was refused: then the model takes none. */
const isFirstSchema = (key: string) =>
  [...(REFUSED.get(key) ?? [])].filter((part) => part.startsWith("schema {")).length < 2;

/** Statuses of servers that refuse a field; some call it a fault of theirs. */
const REFUSING: readonly number[] = [400, 404, 422, 500, 501];
/** Characters of a refusal that patterns look at. */
const SEEN_CHARS = 16_384;
const NOT_KNOWN =
  /un(?:supported|recognized|known|expected)|not (?:be )?(?:support|permit)|n't support|extra (?:inputs|fields)|instead/i;
const NOT_TAKEN = /not (?:be )?(?:allow|accept|available)|cannot|deprecated|invalid|must be/i;
/** Words of servers about the form of an answer. */
const FORM: readonly RegExp[] = [
  /response_?(?:format|schema|json_?schema)|json_?schema|text\.format|output[_ ]?(?:config|format)/i,
  /mime_? ?type|json (?:mode|output|object|format)|json_object|structured|guided|constrain|grammar/i,
  /additional_?properties|\bschemas?\b(?! (?:for|of) (?:function|tool))/i,
  // All that Gemini says of fields that it does not take.
  /request contains an invalid argument/i,
  /(?:for|in|unknown|unsupported) ['"`]?format\b|\bformat['"`]? (?:is|type|param|field)/i,
];
/** Words about one schema, and not about schemas. */
const OF_SCHEMA = /\bschema'?s? |grammar|nest|complex/i;

function isAbout(said: string, part: Part): boolean {
  if (part === "system prompt" || part === "calls together") return TEMPLATES[part].test(said);
  if (part.startsWith("schema")) return FORM.some((words) => words.test(said));
  // A limit that is too high is known all the same.
  if (part === "limit") return LIMITS.some((name) => said.includes(name)) && NOT_KNOWN.test(said);
  return said.includes(part) && (NOT_KNOWN.test(said) || NOT_TAKEN.test(said));
}

/** Names of the limit of tokens. A server that refuses one may know the other. */
const LIMITS = ["max_tokens", "max_completion_tokens"] as const;

type Fields = { readonly [field: string]: unknown };

/**
 * The body with room for a value beside the thinking of its model, by fields that llama.cpp, vLLM
 * and SGLang know.
 */
function withRoom(
  body: Fields,
  { isNamed }: AskedModel,
  { schema, thinking = "off", maxTokens }: ModelRequest,
): Fields {
  if (!isNamed || schema === undefined) return body;
  const off = thinking === "off" ? { chat_template_kwargs: { enable_thinking: false } } : {};
  return { ...body, ...off, thinking_budget_tokens: Math.floor(maxTokens / 2) };
}

/**
 * The body for a server that does not know all fields: without some, and with the limit of tokens
 * by its other name.
 */
function knownFields(body: Fields, refused: ReadonlySet<Part>, sent: Set<Part>, ignored: string[]): Fields {
  const known: { [field: string]: unknown } = {};
  for (const [field, value] of Object.entries(body)) {
    const droppable = DROPPABLE.find((one) => one === field);
    const limit = LIMITS.find((one) => one === field);
    if (droppable && refused.has(droppable)) {
      if (droppable === "reasoning_effort") ignored.push("thinking");
    } else if (limit && refused.has("limit")) {
      known[LIMITS.find((one) => one !== limit) ?? limit] = value;
    } else {
      known[field] = value;
      if (droppable) sent.add(droppable);
      if (limit) sent.add("limit");
    }
  }
  return known;
}

/** The body with values at places in it, such as `config.seed`. */
function withFields(body: Fields, values: { readonly [place: string]: Json }): Fields {
  return Object.entries(values).reduce((fields, [place, value]) => withField(fields, place.split("."), value), body);
}

function withField(fields: Fields, [name = "", ...rest]: readonly string[], value: Json): Fields {
  const inner = fields[name];
  return { ...fields, [name]: rest.length === 0 ? value : withField(isRecord(inner) ? inner : {}, rest, value) };
}

/**
 * The system prompt at the beginning of the first message, for templates that have none, such as
 * those of Gemma 2.
 */
function withoutSystem({ systemPrompt, ...context }: Context): Context {
  const [first, ...others] = context.messages;
  if (systemPrompt === undefined || first?.role !== "user" || typeof first.content !== "string") return context;
  return { ...context, messages: [{ ...first, content: `${systemPrompt}\n\n${first.content}` }, ...others] };
}

/**
 * Calls that follow one another, each with its result, for templates with one call a message, such
 * as those of Llama 3.
 */
function oneByOne(messages: readonly Message[]): Message[] {
  const result: Message[] = [];
  let waiting: AssistantMessage[] = [];
  for (const message of messages) {
    if (message.role === "assistant") {
      const [, ...later] = message.content.filter(({ type }) => type === "toolCall");
      waiting = later.map((call) => ({ ...message, content: [call] }));
      result.push({ ...message, content: message.content.filter((part) => !later.includes(part)) });
      continue;
    }
    result.push(message);
    if (message.role === "toolResult") result.push(...waiting.splice(0, 1));
  }
  return result;
}

const MARK = { cache_control: { type: "ephemeral" } };

/**
 * Marks what a request shares with others for the cache of Anthropic, whose providers keep nothing
 * else. Those of other APIs keep all. Without a place for the mark the body stays as it is.
 *
 * @param units UTF-16 units of the first message; 0: the system prompt alone is shared
 */
export function withSharedBeginning(api: string, body: Fields, units: number): Fields {
  const { messages, system = [] } = body;
  if (api !== "anthropic-messages" || !Array.isArray(messages) || !Array.isArray(system)) return body;
  // A request may have four marks, and one on the message is for what stands before it too.
  const unmarked = system.map(({ cache_control, ...block }: Fields) => block);
  const [first, ...more]: readonly Fields[] = messages;
  const given = typeof first?.content === "string" ? [{ type: "text", text: first.content }] : first?.content;
  const [block, ...rest]: readonly unknown[] = Array.isArray(given) ? given : [];
  if (!isRecord(block) || typeof block.text !== "string") return body;
  const start = block.text.slice(0, units);
  const end = block.text.slice(units);
  // A block of white space alone is refused.
  if (start.trim() === "") {
    const last = unmarked.pop();
    return last ? { ...body, system: [...unmarked, { ...last, ...MARK }] } : body;
  }
  const content =
    end.trim() === ""
      ? [{ ...block, ...MARK }, ...rest]
      : [{ ...block, text: start, ...MARK }, { ...block, text: end }, ...rest];
  const marked = { ...body, messages: [{ ...first, content }, ...more] };
  return unmarked.length > 0 ? { ...marked, system: unmarked } : marked;
}
