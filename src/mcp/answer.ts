import { type Json, wordedEnvelope } from "../../runtime/index.ts";
import { meantBy } from "../platform/nearest.ts";
import { jsonText } from "../platform/visible.ts";
import { beginning, bytesOf, fitted, type Tool, type ToolEnvelope, withWarnings } from "../tools/index.ts";
import { MCP } from "./wording.ts";

/**
 * The client's view of an envelope: one line of JSON, cut to so many bytes, in the server's words.
 *
 * @param rest where the rest of a long answer is, a sentence
 */
export function answerOf(given: ToolEnvelope, warnings: readonly string[], rest: string, maxBytes: number) {
  const envelope = wordedEnvelope(withWarnings(given, warnings), MCP);
  const { exec_id = envelope.ask_id } = envelope;
  const whole =
    typeof exec_id === "string" ? ` rlm_wait with from: 0 has it whole, as belay://exec/${exec_id} has.` : "";
  const text = jsonText(fitted(inOrder(envelope, maxBytes), `${rest}${whole}`, maxBytes));
  return { content: [{ type: "text" as const, text }], isError: !given.success };
}

/** Characters of an answer that clients show their models, as far as they show less than others. */
const SHOWN_BY = [
  [/codex/i, 10_000],
  [/cline/i, 7_000],
  [/qwen/i, 1_800],
] as const;
const USUAL_BYTES = 40_000;

/** The bytes of an answer that this client hands on to its model. */
export function bytesShownBy(client: string): number {
  return SHOWN_BY.find(([name]) => name.test(client))?.[1] ?? USUAL_BYTES;
}

/** Fields that a model looks for first, in whatever of an answer it is shown. */
const FIRST = ["success", "running", "answer", "result_json", "warnings", "error_code", "error_message", "suggestion"];
/** Fields that it seldom needs. An answer that has to be cut is left without it in a client that shows little. */
const LAST = ["limits_applied", "tool_override_events", "budget", "usage", "execution_time_ms", "session_id"];
const IDS = ["exec_id", "ask_id"];

function inOrder(envelope: ToolEnvelope, maxBytes: number): ToolEnvelope {
  const isCut = bytesOf(envelope) > maxBytes;
  const isSmall = isCut && maxBytes < USUAL_BYTES;
  const rankOf = (field: string) => {
    if (FIRST.includes(field)) return FIRST.indexOf(field) - FIRST.length;
    return IDS.includes(field) ? 2 : LAST.includes(field) ? 3 : isLong(envelope[field]) ? 1 : 0;
  };
  const fields = Object.entries(isCut ? { warnings: [], ...envelope } : envelope).filter(
    ([field]) => !isSmall || !LAST.includes(field),
  );
  const sorted = fields.toSorted(([one], [other]) => rankOf(one) - rankOf(other));
  return { ...Object.fromEntries(sorted), success: envelope.success };
}

const LONG_UNITS = 200;

function isLong(value: Json | undefined): boolean {
  return typeof value === "string" && value.length > LONG_UNITS;
}

/** A part of an answer, as JSON text, that fits into these bytes. */
export function pageOf(envelope: ToolEnvelope, from: number, maxBytes: number): ToolEnvelope {
  const whole = jsonText(envelope);
  const text = beginning(whole.slice(from), maxBytes - PAGE_BYTES);
  const to = from + text.length;
  const more = to < whole.length ? { suggestion: `rlm_wait with from: ${to} has what follows.` } : {};
  return { success: true, from, to, of: whole.length, text, ...more };
}

/** For what is said around the text of a page. */
const PAGE_BYTES = 300;

/** The answer to a call of a tool that is not there. */
export function unknownTool(name: string, tools: readonly Tool[]): ToolEnvelope {
  const names = tools.map((tool) => tool.name);
  return {
    success: false,
    error_code: "invalid_argument",
    error_message: `tool ${name} not found${meantBy(name, names)}`,
    suggestion: `Tools are ${names.join(", ")}.`,
  };
}
