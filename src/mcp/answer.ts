import type { Json } from "../../runtime/index.ts";
import { nearest } from "../nearest.ts";
import { fitted, type Tool, type ToolEnvelope } from "../tools/index.ts";
import { jsonText } from "../visible.ts";
import { inMcp } from "./wording.ts";

/**
 * What a client gets of an envelope: one line of JSON, cut to so many bytes, in the server's words.
 *
 * @param rest where the rest of a long answer is, a sentence
 */
export function answerOf(given: ToolEnvelope, warnings: readonly string[], rest: string, maxBytes: number) {
  const envelope = inServerWords(withWarnings(given, warnings));
  const { exec_id = envelope.ask_id } = envelope;
  const whole = typeof exec_id === "string" ? ` The resource belay://exec/${exec_id} has it whole.` : "";
  const text = jsonText(fitted(envelope, `${rest}${whole}`, maxBytes));
  return { content: [{ type: "text" as const, text }], isError: !given.success };
}

/** Adds warnings of the server to those of the tool. */
export function withWarnings(envelope: ToolEnvelope, added: readonly string[]): ToolEnvelope {
  if (added.length === 0) return envelope;
  const { warnings = [], ...others } = envelope;
  const own = Array.isArray(warnings) ? warnings : [warnings];
  return { ...others, success: envelope.success, warnings: [...added, ...own] };
}

function inServerWords(envelope: ToolEnvelope): ToolEnvelope {
  const { suggestion } = envelope;
  return typeof suggestion === "string" ? { ...envelope, suggestion: inMcp(suggestion) } : envelope;
}

/** The answer to a call of a tool that is not there. */
export function unknownTool(name: string, tools: readonly Tool[]): ToolEnvelope {
  const names = tools.map((tool) => tool.name);
  const meant = nearest(name, names);
  return {
    success: false,
    error_code: "invalid_argument",
    error_message: `there is no tool ${name}${meant ? `; did you mean ${meant}?` : ""}`,
    suggestion: `Tools are ${names.join(", ")}.`,
  };
}

/**
 * Arguments as the schema has them. Some clients send an object, a list, a number or a boolean as text: such a text is
 * read as JSON. A value without a type in the schema stays as it came.
 */
export function readArguments(schema: unknown, value: unknown): unknown {
  const { type, properties, items } = partsOf(schema);
  const read = typeof value === "string" && READ.includes(type) ? parsed(value, type) : value;
  if (Array.isArray(read)) return read.map((item) => readArguments(items, item));
  if (typeof read !== "object" || read === null || !properties) return read;
  return Object.fromEntries(
    Object.entries(read).map(([key, inner]) => [key, readArguments(Reflect.get(properties, key), inner)]),
  );
}

const READ: readonly unknown[] = ["object", "array", "number", "integer", "boolean"];

function partsOf(schema: unknown): { type?: unknown; properties?: object; items?: unknown } {
  return typeof schema === "object" && schema !== null ? schema : {};
}

/** The value that a text stands for, if it is of this type; else the text. */
function parsed(text: string, type: unknown): unknown {
  try {
    const value: Json = JSON.parse(text);
    return kindOf(value) === (type === "integer" ? "number" : type) ? value : text;
  } catch {
    return text;
  }
}

function kindOf(value: Json): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}
