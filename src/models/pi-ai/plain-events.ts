import { isRecord, parseJson } from "../../platform/json.ts";
import type { SeenResponse } from "./response-watch.ts";

/** The lists of APIs whose answers to one request have numbers. */
const LISTS: Readonly<Record<string, "choices" | "candidates">> = {
  "openai-completions": "choices",
  "mistral-conversations": "choices",
  "google-generative-ai": "candidates",
  "google-vertex": "candidates",
};

/** Changes a line of a stream. @throws Error for one that does not belong to an answer */
type LineReader = (line: string) => string;

/**
 * The stream with one answer, the one that begins first: others are left out and noted in `seen`.
 * Each chunk of a chat answer whose content
 * is a list of parts gets plain text.
 */
export function withPlainEvents(response: Response, api: string, seen: SeenResponse): Response {
  const { body, status, statusText, headers } = response;
  const plainLine = readerOf(api, seen);
  if (!body || !plainLine) return response;
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest: string[] = [];
  const plain = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = decoder.decode(chunk, { stream: true });
      rest.push(text);
      if (!text.includes("\n")) return;
      const lines = rest.join("").split("\n");
      rest = [lines.pop() ?? ""];
      controller.enqueue(encoder.encode(`${lines.map(plainLine).join("\n")}\n`));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(plainLine(rest.join("") + decoder.decode())));
    },
  });
  return new Response(body.pipeThrough(plain), { status, statusText, headers });
}

function readerOf(api: string, seen: SeenResponse): LineReader | null {
  if (api === "anthropic-messages") return blocksReader(seen);
  return LISTS[api] === undefined ? null : answersReader(api, seen);
}

function answersReader(api: string, seen: SeenResponse): LineReader {
  const isChat = api === "openai-completions";
  let own: number | undefined;
  /** The id of the answer, once it has ended. */
  let ended: unknown;
  return (line) => {
    const isEnd = LISTS[api] === "choices" && FINISHED.test(line);
    const isPlain = own === 0 && ended === undefined && !isEnd && !CONCERNED.test(line);
    const event = isPlain ? undefined : parseJson(line.replace(/^data:/, ""));
    if (!isRecord(event)) return line;
    own ??= firstNumber(event);
    let ofOwn = oneAnswer(event, own, seen);
    if (ended !== undefined && saysMore(ofOwn)) {
      // An answer of another name is another one; of this one nothing is lost.
      if (event.id === ended) seen.hasMore = true;
      else {
        seen.hasOthers = true;
        ofOwn = { ...ofOwn, choices: [] };
      }
    }
    if (isEnd && answersIn(ofOwn).length > 0) ended ??= event.id ?? null;
    const plain = isChat && PARTS.test(line) ? withPlainContent(ofOwn) : ofOwn;
    return plain === event ? line : `data: ${JSON.stringify(plain)}`;
  };
}

const FINISHED = /"finish_reason"\s{0,9}:\s{0,9}"[^"]/;
const PARTS = /"content"\s{0,9}:\s{0,9}\[/;
/** Lines that may have parts, or another answer than number 0. */
const CONCERNED = /"content"\s{0,9}:\s{0,9}\[|"index"\s{0,9}:\s{0,9}[1-9]/;

/** True if an answer has words or calls in an event. */
function saysMore(event: object): boolean {
  return answersIn(event).some((answer) => {
    const delta: unknown = isRecord(answer) ? answer.delta : null;
    if (!isRecord(delta)) return false;
    const { content, tool_calls } = delta;
    return (typeof content === "string" && content !== "") || (Array.isArray(tool_calls) && tool_calls.length > 0);
  });
}

/** Reads the events of Anthropic: what follows the end of the message is another one. */
function blocksReader(seen: SeenResponse): LineReader {
  const begun = new Set<string>();
  let isOver = false;
  return (line) => {
    const [, type] = BLOCK_EVENT.exec(line) ?? [];
    if (type === "content_block_start") begun.add(indexIn(line));
    if (isOver) {
      if (type === "content_block_delta") seen.hasOthers = true;
      return "";
    }
    if (type === "content_block_delta" && !begun.has(indexIn(line)))
      throw new Error(`the events of the answer are out of order: block ${indexIn(line)} has not begun`);
    isOver = type === "message_stop";
    return line;
  };
}

const BLOCK_EVENT = /^data:.{0,99}?"type"\s{0,9}:\s{0,9}"(message_stop|content_block_start|content_block_delta)"/s;
const indexIn = (line: string) => /"index"\s{0,9}:\s{0,9}(\d{1,9})/.exec(line)?.[1] ?? "0";

/** The lowest number of the answers in an event, or in a whole reply; undefined: it has none. */
export function firstNumber(event: object): number | undefined {
  const answers = answersIn(event);
  return answers.length === 0 ? undefined : Math.min(...answers.map(numberOf));
}

/** An event, or a whole reply, with the answer of this number alone. Others are noted in `seen`. */
export function oneAnswer(event: object, own: number | undefined, seen: SeenResponse): object {
  const answers = answersIn(event);
  const ofOwn = answers.filter((answer) => numberOf(answer) === own);
  if (ofOwn.length === answers.length) return event;
  seen.hasOthers = true;
  return { ...event, [isRecord(event) && Array.isArray(event.choices) ? "choices" : "candidates"]: ofOwn };
}

function answersIn(event: object): readonly unknown[] {
  const list: unknown = isRecord(event) ? (event.choices ?? event.candidates) : null;
  return Array.isArray(list) ? list : [];
}

/** The number of an answer among those to one request. */
function numberOf(answer: unknown): number {
  const index: unknown = isRecord(answer) ? answer.index : 0;
  return typeof index === "number" && Number.isInteger(index) ? index : 0;
}

/** A chat answer, or a chunk of one, with plain text in place of a list of parts. */
export function withPlainContent(answer: object): object {
  if (!isRecord(answer) || !Array.isArray(answer.choices)) return answer;
  const choices = answer.choices.map((choice: unknown) => {
    if (!isRecord(choice)) return choice;
    const said = Object.entries(choice).map(([name, value]) => [name, isRecord(value) ? plainContent(value) : value]);
    return Object.fromEntries(said);
  });
  return { ...answer, choices };
}

/** A message with the text of its parts. Those of thinking go where other servers have it. */
function plainContent(message: { readonly [key: string]: unknown }): object {
  if (!Array.isArray(message.content)) return message;
  const parts = message.content.filter(isRecord);
  const isText = ({ type = "text" }: { readonly [key: string]: unknown }) => type === "text";
  const thinking = textOf(parts.filter((part) => !isText(part)));
  return {
    ...message,
    content: textOf(parts.filter(isText)),
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
  };
}

/** The text of parts; thinking may be a list of parts itself. */
function textOf(parts: readonly unknown[]): string {
  const texts = parts.filter(isRecord).flatMap(({ text, thinking }) => [text, ...[thinking ?? []].flat()]);
  return texts
    .map((one) => (isRecord(one) ? one.text : one))
    .filter((one) => typeof one === "string")
    .join("");
}
