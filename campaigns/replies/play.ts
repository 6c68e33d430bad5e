import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Case, ReplyApi } from "./case.ts";
import { DOORS } from "./doors.ts";
import { judge } from "./judge.ts";
import type { Place } from "./place.ts";
import { startRepliesServer } from "./server.ts";

/** What became of a case. */
export interface Played {
  readonly case: Case;
  /** What is not as expected; empty: it is right. */
  readonly wrong: readonly string[];
}

/** Cases that take the streams of the process, or whose times count, are played one by one. */
const ALONE = new Set(["fan", "batch"]);
const AT_ONCE = 6;
const HUNG_MS = 30_000;

/**
 * Plays cases against servers on loopback, in this process.
 *
 * @param tell called with each case once it was played
 */
export async function play(
  cases: readonly Case[],
  tell: (played: Played) => void = () => {},
): Promise<readonly Played[]> {
  const folder = mkdtempSync(join(tmpdir(), "belay-replies-"));
  const before = process.env.PI_CODING_AGENT_DIR;
  const server = await startRepliesServer();
  try {
    const files = join(folder, "files");
    mkdirSync(files);
    for (const name of ["a.txt", "b.txt"]) writeFileSync(join(files, name), `This is ${name}.\n`);
    process.env.PI_CODING_AGENT_DIR = agentFolder(join(folder, "agent"), server.url, cases);
    const place: Place = { server, files, folderOf: (id) => join(folder, "batch", id) };
    const played = new Map<Case, Played>();
    const playOne = async (one: Case) => {
      const end = { case: one, wrong: await wrongOf(one, place) };
      played.set(one, end);
      tell(end);
    };
    const waiting = cases.filter(({ door }) => !ALONE.has(door));
    const workers = Array.from({ length: AT_ONCE }, async () => {
      for (let one = waiting.shift(); one; one = waiting.shift()) await playOne(one);
    });
    await Promise.all(workers);
    for (const one of cases) if (ALONE.has(one.door)) await playOne(one);
    return cases.flatMap((one) => played.get(one) ?? []);
  } finally {
    await server[Symbol.asyncDispose]();
    if (before === undefined) delete process.env.PI_CODING_AGENT_DIR;
    else process.env.PI_CODING_AGENT_DIR = before;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function wrongOf(one: Case, place: Place): Promise<readonly string[]> {
  try {
    const seen = await Promise.race([DOORS[one.door](one, place), setTimeout(HUNG_MS, null, { ref: false })]);
    return seen === null ? [`nothing came of it within ${HUNG_MS} ms`] : judge(one.expect, seen);
  } catch (error) {
    return [`thrown: ${error instanceof Error ? error.message : error}`];
  }
}

/** Providers of Pi's models.json, by the API that a case names: each case is a model there. */
const PROVIDERS: Readonly<Record<Exclude<ReplyApi, "chat">, { readonly api: string; readonly path: string }>> = {
  "chat-listed": { api: "openai-completions", path: "/v1" },
  responses: { api: "openai-responses", path: "/v1" },
  anthropic: { api: "anthropic-messages", path: "" },
  gemini: { api: "google-generative-ai", path: "/v1beta" },
};

function agentFolder(folder: string, url: string, cases: readonly Case[]): string {
  const providers = Object.entries(PROVIDERS).map(([name, { api, path }]) => {
    const models = cases.filter((one) => one.api === name).map(({ id, listed = {} }) => ({ id, ...listed }));
    return [name, { api, baseUrl: url + path, apiKey: "sk-test", models }];
  });
  mkdirSync(folder);
  writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: Object.fromEntries(providers) }));
  return folder;
}
