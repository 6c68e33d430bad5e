import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Case } from "./case.ts";
import { DOORS } from "./doors.ts";
import { judge } from "./judge.ts";
import type { Place } from "./place.ts";
import { PROVIDERS } from "./providers.ts";
import { startRepliesServer } from "./server.ts";
import { openSessions } from "./sessions.ts";

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
    const place = { server, files, folderOf: (id: string) => join(folder, "batch", id) };
    const played = new Map<Case, Played>();
    const playOne = async (one: Case, place: Place) => {
      const end = { case: one, wrong: await wrongOf(one, place) };
      played.set(one, end);
      tell(end);
    };
    const waiting = cases.filter(({ door }) => !ALONE.has(door));
    const worker = async (cases: Case[]) => {
      await using sessions = openSessions(server, files);
      for (let one = cases.shift(); one; one = cases.shift()) await playOne(one, { ...place, sessions });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, () => worker(waiting)));
    await worker(cases.filter(({ door }) => ALONE.has(door)));
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

function agentFolder(folder: string, url: string, cases: readonly Case[]): string {
  const providers = Object.entries(PROVIDERS).map(([name, { api, path }]) => {
    const models = cases.filter((one) => one.api === name).map(({ id, listed = {} }) => ({ id, ...listed }));
    return [name, { api, baseUrl: url + path, apiKey: "sk-test", models }];
  });
  mkdirSync(folder);
  writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: Object.fromEntries(providers) }));
  return folder;
}
