import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { BatchApi } from "../../../src/provider-batches/providers/index.ts";
import { type BatchServer, startBatchServer } from "../../../tests/support/batch-server/index.ts";
import { endOf, OUT, runHere, startCommand } from "../command.ts";
import type { Death } from "./deaths.ts";
import { answeredTo, SCRIPT } from "./script.ts";

const KEY = "CAMPAIGN_KEY";
const KEY_TEXT = "key-of-the-campaign";
const BY = "CAMPAIGN_BY";
/** Waits for batches are so much shorter than a user's. */
const PACE = 0.05;
const LEASE_MS = 3000;

/** A folder from which processes are started. */
export interface Place {
  readonly place: string;
  readonly server: Pick<BatchServer, "url" | "baseUrl">;
  readonly api: BatchApi;
}

/** The folder gets the inputs of a run, and the model `mine/m` with its price. */
export function writePlace({ place, server, api }: Place, ids: readonly string[]): void {
  const agent = join(place, "agent");
  mkdirSync(agent, { recursive: true });
  const cost = { input: 1, output: 5, cacheRead: 0, cacheWrite: 0 };
  // Texts of the file that name a variable are its value.
  const mine = { baseUrl: server.baseUrl(api), api, apiKey: KEY, headers: { "x-by": BY }, models: [{ id: "m", cost }] };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { mine } }));
  writeFileSync(join(place, "ask.js"), SCRIPT);
  writeFileSync(join(place, "in.jsonl"), ids.map((id) => `${JSON.stringify({ id })}\n`).join(""));
}

export const lineOf = (name: string, concurrency: number): readonly string[] => [
  ...["batch", "ask.js", "--jobs", "in.jsonl", "--name", name, "--quiet", "--delivery", "batch"],
  ...["--concurrency", String(concurrency)],
];

/** Starts the command. It may end itself after a write. */
export function startIn(at: Place, line: readonly string[], by: string, death: Death | null): ChildProcess {
  return startCommand(line, { ...startedIn(at, by), step: death && "write" in death ? death.write : null });
}

function startedIn({ place, server }: Place, by: string) {
  const env = {
    ...{ BELAY_BASE_URL: "", BELAY_API_KEY_ENV: "", BELAY_MODEL: "mine/m", PI_CODING_AGENT_DIR: join(place, "agent") },
    ...{ [KEY]: KEY_TEXT, [BY]: by, BELAY_SHIPPING_PACE: String(PACE), BELAY_LEASE_MS: String(LEASE_MS) },
  };
  return { place, url: server.url, env };
}

/** A process that lives longer hangs, ms. */
export const HANGS_MS = 300_000;

/** The exit code of a process, that it was killed, or that it hung and was killed for that. */
export async function endWithin(child: ChildProcess): Promise<number | "killed" | "no end"> {
  const over = new AbortController();
  const late = setTimeout(HANGS_MS, "no end" as const, { signal: over.signal });
  const end = endOf(child);
  const first = await Promise.race([end, late]);
  over.abort();
  await late.catch(() => {});
  if (first === "no end") child.kill("SIGKILL");
  await end;
  return first;
}

/** The name of the account whose batches the processes of a run make. */
export function accountOf({ server, api }: Place): string {
  return `${api} ${server.baseUrl(api)} ${createHash("sha256").update(KEY_TEXT).digest("hex").slice(0, 8)}`;
}

/** Problems that `belay doctor` finds in a store. */
export async function doctorOf(at: Place, storeUrl?: string): Promise<readonly string[]> {
  const store = storeUrl === undefined ? [] : ["--store", storeUrl];
  const { code, stdout } = await runHere(["doctor", "--json", ...store], startedIn(at, "doctor"));
  return code === 0 && !/"state":"(?!ok)/.test(stdout) ? [] : [`belay doctor ended with ${code}: ${stdout}`];
}

export interface Undisturbed {
  /** The file of results. */
  readonly results: string;
  readonly batches: number;
}

/** A run over a folder that nobody disturbs. */
export async function undisturbedRun(
  place: string,
  api: BatchApi,
  ids: readonly string[],
  concurrency: number,
): Promise<Undisturbed> {
  await using server = await startBatchServer({ answer: answeredTo, fate: () => ({ wait: 300 }) });
  const at = { place, server, api };
  writePlace(at, ids);
  const line = [...lineOf("campaign", concurrency), "-o", OUT];
  const { code, stderr } = await runHere(line, startedIn(at, "one"));
  if (code !== 0) throw new Error(`the undisturbed run ended with ${code}: ${stderr}`);
  return { results: readFileSync(join(place, OUT), "utf8"), batches: server.batches.length };
}
