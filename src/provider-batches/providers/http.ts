import { isUtf8 } from "node:buffer";
import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import type { BatchAccount } from "../../models/port.ts";
import { boundedJson } from "../../platform/bounded-reads.ts";
import { errorCode, messageOf } from "../../platform/errors.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { fetchOut, OutboundError } from "../../platform/outbound.ts";
import { redactedStart, withoutKeys } from "../../platform/redact.ts";
import { inLine } from "../../platform/visible.ts";
import { isWithin } from "../../store/index.ts";
import { ProviderError, type ResultRow, type RowRequest } from "./provider.ts";

const REQUEST_MS = 60_000;
/** Time of a request with the rows of a batch, ms. */
export const ROWS_MS = 1_800_000;
const MOST = {
  answerBytes: 16e6,
  lineBytes: 16e6,
  rowsBytes: 8e9,
  pieceRows: 500,
  pieceBytes: 8e6,
  messageUnits: 400,
  pages: 1000,
};

const TOO_LARGE = "are too large";

/** Bounds of a row: a deeper one could not be handed on. */
const ROW_BOUNDS = { bytes: MOST.lineBytes, values: Number.POSITIVE_INFINITY, depth: 500 };

interface Sent {
  /** A text is JSON. */
  readonly body?: string | Blob | FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ms?: number;
  /** Called when the request is ready; it is sent if this resolves with true. */
  before?(): Promise<boolean>;
  /**
   * It is not cut off when the process is to stop: nobody would do it later, or know whether it was
   * done.
   */
  readonly goesOn?: true;
}

type Request = readonly [method: string, url: string, sent?: Sent];

/** Entries of a list, and the rest of the address of the next page; null: there is none. */
type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/** Requests to the server of an account. Each is sent once. @throws ProviderError */
interface AccountHttp {
  /** Sends a request, and returns an answer whose status says that it succeeded. */
  send(...request: Request): Promise<Response>;
  /** Sends a request, and returns the JSON of its answer. */
  json<T>(schema: v.GenericSchema<unknown, T>, ...request: Request): Promise<T>;
  /** The entries of a list, page by page. */
  list<T>(url: string, schema: v.GenericSchema<unknown, Page<T>>): AsyncGenerator<T>;
  /** The rows of an answer, in pieces. See {@link rowsIn}. */
  rows(answer: Response, row: v.GenericSchema<unknown, ResultRow>): AsyncGenerator<ResultRow[]>;
  /** A provider's words, as they may be shown. */
  clean(words: string): string;
}

/** @param stop cuts requests off, unless they continue */
export function httpOf(account: BatchAccount, stop?: AbortSignal): AccountHttp {
  const clean = (words: string) => wordsOf(account, words);
  const failed: Failed = ([method, url], problem, status = null) =>
    new ProviderError(clean(`${method} ${new URL(url).pathname} ${problem}`), status);

  async function send(...request: Request): Promise<Response> {
    const [method, url, { body = null, headers: own = {}, before, ms = REQUEST_MS, goesOn = false } = {}] = request;
    // A form that was streamed has crashed Node 24 when a server answered before it had read all of
    // it.
    const packed = new Response(body);
    const bytes = body === null ? null : new Uint8Array(await packed.arrayBuffer());
    const type = typeof body === "string" ? "application/json" : packed.headers.get("content-type");
    const headers = { ...account.headers, ...(type === null ? {} : { "content-type": type }), ...own };
    if (before && !(await before())) throw failed(request, "was not sent: this process was stopped meanwhile");
    const ends = [AbortSignal.timeout(ms), ...(stop && !goesOn ? [stop] : [])];
    const sent = fetchOut(fetch, url, { method, body: bytes, headers, signal: AbortSignal.any(ends) });
    const response = await sent.catch((error: unknown) => {
      throw failed(request, `got no answer: ${reasonOfNoAnswer(error)}`);
    });
    if (response.ok) return response;
    const answer = await boundedJson(response, MOST.answerBytes).catch(() => undefined);
    const error = isRecord(answer) ? answer.error : null;
    const words = isRecord(error) && error.message ? `: ${error.message}` : "";
    throw failed(request, `failed (${response.status})${words}`, response.status);
  }

  async function json<T>(schema: v.GenericSchema<unknown, T>, ...request: Request): Promise<T> {
    const response = await send(...request);
    const read = v.safeParse(schema, await boundedJson(response, MOST.answerBytes).catch(() => undefined));
    if (read.success) return read.output;
    throw failed(request, "got an answer that cannot be read");
  }

  async function* list<T>(url: string, schema: v.GenericSchema<unknown, Page<T>>): AsyncGenerator<T> {
    let next: string | null = "";
    for (let pages = 0; next !== null; pages++) {
      if (pages === MOST.pages) throw failed(["GET", url], `has more than ${pages} pages`);
      const page: Page<T> = await json(schema, "GET", url + next);
      yield* page.items;
      next = page.next;
    }
  }

  return { send, json, list, rows: (answer, row) => rowsIn(answer, row, failed), clean };
}

/** The error of a request. */
type Failed = (request: Request, problem: string, status?: number | null) => ProviderError;

/**
 * The rows of an answer, each of which is a line of JSON.
 *
 * @throws ProviderError 422 after them if there were others
 */
async function* rowsIn(
  { url, body }: Response,
  row: v.GenericSchema<unknown, ResultRow>,
  failed: Failed,
): AsyncGenerator<ResultRow[]> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  let bytes = 0;
  let due = MOST.pieceBytes;
  const piece: ResultRow[] = [];
  let problem: string | null = null;
  /** Reads the line that has ended. */
  const read = () => {
    const line = Buffer.concat(rest);
    rest = [];
    restBytes = 0;
    const found = rowIn(line, row);
    if ("custom_id" in found) piece.push(found);
    else if (found.problem !== null) problem ??= found.problem;
  };
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength;
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf(NEWLINE, at);
        const part = chunk.subarray(at, end < 0 ? chunk.length : end);
        rest.push(part);
        restBytes += part.byteLength;
        // The rest of this line is a line that is not of the form.
        if (restBytes > MOST.lineBytes) {
          rest = [];
          restBytes = 0;
          problem ??= TOO_LARGE;
        }
        if (end < 0) break;
        read();
        at = end + 1;
      }
      if (bytes > MOST.rowsBytes) {
        problem ??= TOO_LARGE;
        break;
      }
      for (; piece.length >= MOST.pieceRows || (piece.length > 0 && bytes > due); due = bytes + MOST.pieceBytes) {
        yield piece.splice(0, MOST.pieceRows);
      }
    }
  } catch (error) {
    throw failed(["GET", url], `did not get all rows: ${messageOf(error)}`);
  }
  const isCut = problem === null;
  read();
  if (piece.length > 0) yield piece;
  if (problem !== null) throw failed(["GET", url], `got rows that ${problem}`, isCut ? null : 422);
}

const NEWLINE = 0x0a;

/** The row in a line; the problem of a line that is none, as a clause, or null if it is empty. */
function rowIn(
  bytes: Buffer,
  row: v.GenericSchema<unknown, ResultRow>,
): ResultRow | { readonly problem: string | null } {
  const line = bytes.toString();
  const one = v.safeParse(row, parseJson(line));
  if (!one.success) return { problem: line.trim() === "" ? null : `are not of their form: ${one.issues[0].message}` };
  if (!isUtf8(bytes)) return { ...one.output, answer: refused("the row of the batch has bytes that are not UTF-8") };
  return isWithin(line, ROW_BOUNDS) ? one.output : { ...one.output, answer: UNREADABLE };
}

function reasonOfNoAnswer(error: unknown): string {
  if (error instanceof OutboundError) return `${error.message}. ${error.suggestion}`;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : errorCode(cause);
}

/** A provider's words as one line without keys, at most so long as they are kept. */
function wordsOf({ headers }: BatchAccount, words: string): string {
  const secrets = Object.values(headers).flatMap((value) => [value, ...value.split(" ")]);
  return redactedStart(words, MOST.messageUnits, (seen) => inLine(withoutKeys(seen, secrets)));
}

/** The rows as a body, built page by page: its length is known, and no text of all rows is made. */
export async function bodyOf(pages: AsyncIterable<readonly RowRequest[]>, line: (row: RowRequest) => string) {
  const parts: Blob[] = [];
  for await (const page of pages) parts.push(new Blob(page.map(line)));
  return new Blob(parts);
}

/** A provider's name of a file or a batch: it is kept, shown and a part of addresses. */
export const Name = v.pipe(v.string(), v.regex(/^(?:(?:batches|files)\/)?\w[\w:.=-]{0,499}$/));

/**
 * A provider's name as a part of an address.
 * @param folder stands before each name of this kind
 * @throws ProviderError for what is not a name, such as `..`
 */
export function inPath(name: string, folder: "" | "batches/" | "files/" = ""): string {
  const own = name.slice(folder.length);
  if (name.startsWith(folder) && /^\w[\w:.=-]{0,499}$/.test(own)) return folder + encodeURIComponent(own);
  throw new ProviderError(`${JSON.stringify(name.slice(0, 100))} is not a provider's name of a file or batch`, null);
}
export const JsonValue: v.GenericSchema<unknown, Json> = v.custom<Json>((value) => value !== undefined);
/** A number of rows, which some write as a text and leave out if it is 0. */
const toCount = v.transform((count: unknown) => Math.max(0, Math.min(1e6, Math.trunc(Number(count))) || 0));
export const Count = v.optional(v.pipe(v.unknown(), toCount), 0);

/** The answer of a row that Belay does not take: another try would cost again. */
const refused = (message: string) => ({ status: 422, body: { error: { message } } });

/** The answer of a row of a form that Belay does not know. */
export const UNREADABLE: ResultRow["answer"] = refused("the row of the batch has no answer that can be read");
