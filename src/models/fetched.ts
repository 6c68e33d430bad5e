import { dirname, join } from "node:path";
import * as v from "valibot";
import { boundedJson, readBoundedFile } from "../platform/bounded-reads.ts";
import { homeFolder } from "../platform/home.ts";
import { isRecord, parseJson } from "../platform/json.ts";
import { makeFolder } from "../platform/make-folder.ts";
import { fetchOut, nullUnlessOutbound } from "../platform/outbound.ts";
import { writeResultFile } from "../platform/result-file.ts";

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

const ListSchema = v.object({
  models: v.array(v.unknown()),
  /** When the list was made, ms since 1970. */
  lastModified: v.number(),
  checkedAt: v.optional(v.number(), 0),
  etag: v.exactOptional(v.string()),
});

/**
 * A provider's models that were fetched after pi-ai was built, in the form of Pi's
 * models-store.json.
 */
export type FetchedList = Readonly<v.InferOutput<typeof ListSchema>>;

type FetchedLists = ReadonlyMap<string, FetchedList>;

export const MAX_LIST_BYTES = 4 * 2 ** 20;

/** The file of lists that `belay models --refresh` writes. */
export const storeFile = (env: Env) => join(homeFolder(env), "models-store.json");

/**
 * The newer list of each provider, of Belay's file and of Pi's. A file that cannot be read counts
 * as none.
 */
export function readFetched(...files: readonly string[]): FetchedLists {
  const found = new Map<string, FetchedList>();
  for (const file of files) {
    const lists = listsIn(file);
    if (!(lists instanceof Map)) continue;
    for (const [provider, list] of lists) {
      if ((found.get(provider)?.lastModified ?? -1) < list.lastModified) found.set(provider, list);
    }
  }
  return found;
}

/**
 * A clause about the file of fetched lists, if it cannot be read; null: it can, or it is not there.
 */
export function fetchedProblem(env: Env): string | null {
  const file = storeFile(env);
  const lists = listsIn(file);
  return typeof lists === "string" ? `${file} ${lists}` : null;
}

/**
 * The lists in a file, or a clause that says what is wrong with it. A list of another form is left
 * out.
 */
function listsIn(file: string): FetchedLists | string {
  const read = readBoundedFile(file, { maxBytes: MAX_LIST_BYTES, followsLink: true });
  if (read === undefined) return new Map();
  if ("problem" in read) return read.problem;
  const content = parseJson(read.text);
  if (!isRecord(content)) return "does not hold a JSON object";
  const checked = Object.entries(content).map(([provider, list]) => [provider, v.safeParse(ListSchema, list)] as const);
  return new Map(checked.flatMap(([provider, list]) => (list.success ? [[provider, list.output]] : [])));
}

const TIMEOUT_MS = 4000;

/**
 * Asks `from` for the lists of these providers, and keeps what is newer. Returns the providers that
 * failed.
 *
 * @throws OutboundError
 */
export async function refreshLists(from: string, providers: readonly string[], file: string): Promise<string[]> {
  const kept = new Map(readFetched(file));
  const fetched = await Promise.all(providers.map((name) => fetchList(from, name, kept.get(name))));
  const failed = providers.filter((name, at) => {
    const list = fetched[at];
    if (list) kept.set(name, list);
    return list === null;
  });
  makeFolder(dirname(file));
  await writeResultFile(file, [JSON.stringify(Object.fromEntries(kept))], String(process.pid), 0o600);
  return failed;
}

/**
 * A provider's list as it is now; undefined if the kept one is, or if the server has none; null for
 * a failure.
 */
async function fetchList(from: string, provider: string, old?: FetchedList): Promise<FetchedList | null | undefined> {
  const headers = { accept: "application/json", ...(old?.etag ? { "if-none-match": old.etag } : {}) };
  try {
    const url = new URL(`/api/models/providers/${encodeURIComponent(provider)}`, from);
    const answer = await fetchOut(fetch, url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.status === 304 || answer.status === 404) return undefined;
    const body = answer.ok ? await boundedJson(answer, MAX_LIST_BYTES) : null;
    const models: unknown = isRecord(body) ? (body.models ?? Object.values(body)) : body;
    if (!Array.isArray(models)) return null;
    const etag = answer.headers.get("etag");
    const lastModified = Date.parse(answer.headers.get("last-modified") ?? "") || 0;
    return { models, lastModified, checkedAt: Date.now(), ...(etag ? { etag } : {}) };
  } catch (error) {
    return nullUnlessOutbound(error);
  }
}
