import type { AssistantMessage } from "belay-pi-ai";
import { isRecord, parseJson } from "../../platform/json.ts";
import { answerEvents, OTHER_ROWS } from "../../provider-batches/providers/index.ts";
import { type StopMeaning, stopMeaning } from "../replies/stop-meaning.ts";
import { firstNumber, oneAnswer, withPlainContent, withPlainEvents } from "./plain-events.ts";
import type { SeenResponse } from "./response-watch.ts";

/**
 * Lines that may tell what pi-ai does not hand on: that a model refused, or a prompt was blocked.
 */
const TELLING = /refusal|blockReason/;
/** Longer lines are not looked at. */
const MOST_UNITS = 65_536;

/**
 * The reason to stop, or the last event of the Responses API. In a text of the model its quotes
 * would be escaped.
 */
const END = /"finish_?[rR]eason"\s{0,9}:\s{0,9}"[^"]|"type"\s{0,9}:\s{0,9}"response\.(?:completed|(incomplete))"/;
/** Units of a chunk that are looked at again with the next one. */
const END_UNITS = 64;

/**
 * Takes the bytes of a stream as they come, and notes in `seen` refusals, how the answer ended, and bytes
 * that are not UTF-8.
 */
export function watchStream(seen: SeenResponse): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  const strict = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  let edge = "";
  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (!seen.isReplaced && !decodes(strict, chunk)) seen.isReplaced = true;
    const end = END.exec(edge + text);
    if (end) seen.end = end[1] === undefined ? "told" : "cut";
    edge = (edge + text).slice(-END_UNITS);
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(-MOST_UNITS);
    for (const line of lines) if (TELLING.test(line)) noteRefusal(parseJson(line.replace(/^data:/, "")), seen);
  };
}

function decodes(decoder: TextDecoder, chunk: Uint8Array): boolean {
  try {
    decoder.decode(chunk, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Notes the words of a refusal in an event of a stream, by the APIs of OpenAI and Gemini. */
function noteRefusal(event: unknown, seen: SeenResponse): void {
  if (!isRecord(event)) return;
  const [choice] = listIn(event.choices);
  if (isRecord(choice) && isRecord(choice.delta)) addRefusal(seen, choice.delta.refusal);
  if (event.type === "response.output_item.done" && isRecord(event.item))
    for (const part of listIn(event.item.content)) if (isRecord(part)) addRefusal(seen, part.refusal);
  const { promptFeedback } = event;
  if (isRecord(promptFeedback) && typeof promptFeedback.blockReason === "string")
    addRefusal(seen, `the provider blocked the prompt (${promptFeedback.blockReason})`);
}

function addRefusal(seen: SeenResponse, words: unknown): void {
  if (typeof words === "string" && words !== "") seen.refusal = `${seen.refusal ?? ""}${words}`.slice(0, MOST_UNITS);
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * The response as the stream that was asked for, if a server sends its answer whole. An error that
 * came as a success gets its status.
 * @throws Error for a page, or JSON of another form, which is noted in `seen`
 */
export async function asAsked(response: Response, api: string, seen: SeenResponse): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || !WHOLE.test(type) || /event-stream|ndjson/.test(type))
    return response.ok ? withPlainEvents(response, api, seen) : response;
  const text = await response.text();
  // A server may forget to name its stream.
  if (STREAM.test(text)) return withPlainEvents(streamOf(text), api, seen);
  const body = parseJson(text);
  const answer = isRecord(body) ? wholeAnswer(api, body, seen) : null;
  if (answer) return answer;
  const title = /<title>([^<]{1,100})/i.exec(text)?.[1]?.trim();
  const what = isRecord(body) ? `what is not an answer: ${text.slice(0, 200)}` : "a page, and not with an answer";
  seen.odd = `the server answered with ${what}${title ? `: ${title}` : ""}`;
  throw new Error(seen.odd);
}

/** Types of whole answers; some servers tell none. */
const WHOLE = /json|html|text\/plain|octet-stream|^$/;
const STREAM = /^\s*(?:data|event|id|retry)?:/;

/** A whole answer as a stream, or the refusal that it holds; null: it is neither, or too deep. */
export function wholeAnswer(
  api: string,
  body: { readonly [key: string]: unknown },
  seen: SeenResponse,
): Response | null {
  if (body[OTHER_ROWS] !== undefined) seen.hasOthers = true;
  const refused = refusalIn(body, seen);
  return refused ?? streamed(api, body, seen);
}

/** null for an answer of an API that Belay does not know, or of another form. */
function streamed(api: string, body: object, seen: SeenResponse): Response | null {
  try {
    const stream = answerEvents(api, withPlainContent(oneAnswer(body, firstNumber(body), seen)));
    if (stream === null) return null;
    watchStream(seen)(Buffer.from(stream));
    return streamOf(stream);
  } catch {
    return null;
  }
}

function refusalIn(body: { readonly [key: string]: unknown }, seen: SeenResponse): Response | null {
  const error = body.error ?? (body.object === "error" ? body : null);
  if (error === null || error === undefined) return null;
  const fields = isRecord(error) ? error : { message: String(error) };
  const stated = [fields.code, fields.status, body.code, body.status].map(Number);
  const status = stated.find((number) => number >= 400 && number < 600) ?? (isOfRequest(fields) ? 400 : 500);
  seen.status = status;
  return Response.json({ ...body, error: fields }, { status });
}

/** True if the words of an error without a status say that the request is at fault. */
const isOfRequest = (fields: object) => /invalid|not.?found|unsupported|permission/i.test(JSON.stringify(fields));

function streamOf(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/**
 * pi-ai's words about a reason that it takes for an error; older copies hand it on in these alone.
 */
const NAMED = /(?:stop|finish)[_ ]?reason: (\w{1,40})$|stopped with: (\w{1,40})$|incomplete: (\w{1,40})$/i;

/** A reason to stop, in an API's own words. */
export interface StopReason {
  readonly reason: string;
  readonly meaning: StopMeaning;
}

/** The reason of a message to stop; null for one that is not known, which pi-ai's words explain. */
export function stopReasonOf({
  rawStopReason,
  errorMessage = "",
}: Pick<AssistantMessage, "rawStopReason" | "errorMessage">): StopReason | null {
  const named = NAMED.exec(errorMessage);
  const reason = rawStopReason ?? named?.[1] ?? named?.[2] ?? named?.[3];
  if (reason === undefined) return null;
  const meaning = stopMeaning(reason);
  return meaning === undefined ? null : { reason, meaning };
}
