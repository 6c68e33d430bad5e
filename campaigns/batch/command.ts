import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { COMPILED, CRASHING_COMMAND } from "../../tests/support/command.ts";
import { commandHere } from "../../tests/support/command-here.ts";
import { KILL_VARIABLE } from "../../tests/support/jobs/kill-step.ts";
import { type ModelServer, startModelServer } from "../../tests/support/model-server.ts";
import type { BatchPlan } from "./campaign.ts";
import type { Asked } from "./judge.ts";
import { POISONED } from "./poison.ts";
import { answerTo, SCRIPT } from "./script.ts";

export const NAME = "campaign";
export const OUT = "out.jsonl";
export const LINE: readonly string[] = ["batch", "ask.js", "--jobs", "in.jsonl", "--name", NAME, "--quiet"];

export const idsOf = (jobs: number): readonly string[] => Array.from({ length: jobs }, (_, n) => `job-${n}`);

export function writeInputs(place: string, ids: readonly string[]): void {
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "ask.js"), SCRIPT);
  writeFileSync(join(place, "in.jsonl"), ids.map((id) => `${JSON.stringify({ id })}\n`).join(""));
}

export interface Started {
  /** Its folder, with its home. */
  readonly place: string;
  /** Of the model server. */
  readonly url: string;
  /** As in KILL_VARIABLE; null: it does not kill itself. */
  readonly step: string | null;
  /** By this the model server knows who asks. */
  readonly by?: string;
  /** The poison ends it, and each process that it starts. */
  readonly isPoisoned?: boolean;
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
}

export function startCommand(line: readonly string[], started: Started): ChildProcess {
  return spawn(process.execPath, [...CRASHING_COMMAND, ...line], {
    cwd: started.place,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, BELAY_HOME: join(started.place, "home"), ...variablesOf(started) },
  });
}

/** Runs a line that nobody kills in this process. Returns its exit code and what it printed. */
export const runHere = (line: readonly string[], started: Omit<Started, "step">) =>
  commandHere(line, {
    ...{ cwd: started.place, home: join(started.place, "home") },
    env: variablesOf({ ...started, step: null }),
  });

function variablesOf({
  url,
  step,
  by = "one",
  isPoisoned = false,
  env = {},
}: Started): Readonly<Record<string, string>> {
  return {
    NODE_COMPILE_CACHE: COMPILED,
    BELAY_BASE_URL: url,
    BELAY_MODEL: "local/m",
    BELAY_API_KEY_ENV: KEY,
    [KEY]: by,
    [KILL_VARIABLE]: step ?? "finish:0",
    ...(isPoisoned ? POISONED : {}),
    ...env,
  };
}

const KEY = "CAMPAIGN_KEY";

/** Who asked is the key that was sent. */
export function askedOf({ requests }: ModelServer): readonly Asked[] {
  return requests.map(({ prompt, headers }) => ({ prompt, by: askerIn(headers) }));
}

export const askerIn = ({ authorization = "" }: IncomingHttpHeaders): string => authorization.replace("Bearer ", "");

/** Its exit code, or that it was killed. */
export async function endOf(child: ChildProcess): Promise<number | "killed"> {
  const [code, signal] = await once(child, "close");
  return signal === "SIGKILL" ? "killed" : code;
}

/** The file of results of a run over a folder that nobody disturbs. */
export async function undisturbedRun({ folder, concurrency }: BatchPlan, ids: readonly string[]): Promise<string> {
  await using server = await startModelServer(({ prompt }) => ({ text: answerTo(prompt) }));
  const place = join(folder, "undisturbed");
  writeInputs(place, ids);
  const line = [...LINE, "-o", OUT, "--concurrency", String(concurrency)];
  const { code, stderr } = await runHere(line, { place, url: server.url });
  if (code !== 0) throw new Error(`the undisturbed run ended with ${code}: ${stderr}`);
  return readFileSync(join(place, OUT), "utf8");
}
