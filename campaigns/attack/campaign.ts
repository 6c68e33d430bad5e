import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { ROOT, run } from "../../scripts/process.ts";
import { ATTACKS } from "./attacks.ts";
import { BY_TEST } from "./by-test.ts";
import { CASES } from "./cases.ts";
import type { Judging, Verdict } from "./run.ts";
import { CANARY, KEY_VARIABLE } from "./stage.ts";
import { type slowest, TEXT_READERS, type TextReader } from "./texts.ts";

export interface AttackPlan {
  readonly judging: Judging;
  /** Whether an attack of this id and class is done. */
  readonly wanted: (id: string, of: string) => boolean;
  /** An empty folder. */
  readonly folder: string;
  say(line: string): void;
}

export interface Outcome {
  readonly id: string;
  readonly class: string;
  readonly fell: readonly string[];
  /** Why it could not be done here; null: it was. */
  readonly absent: string | null;
}

/** Does the attacks, each in a process of its own, and has the tests run that do the others. */
export async function attackCampaign({ judging, wanted, folder, say }: AttackPlan): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const note = (outcome: Outcome, title: string, told = "") => {
    outcomes.push(outcome);
    const kind = outcome.absent === null ? (outcome.fell.length > 0 ? "FELL" : "held") : "n/a ";
    say(`${kind}  ${outcome.id}  ${title}${told}`);
    for (const reason of outcome.absent === null ? outcome.fell : [outcome.absent]) say(`      ${reason}`);
  };
  for (const attack of ATTACKS.filter((one) => wanted(one.id, one.class))) {
    const verdict = await tried(attack.id, judging);
    const { rssBytes, delayMs, ms } = verdict;
    const figures = `  ${Math.round(ms)} ms, ${Math.round(rssBytes / 2 ** 20)} MB, ${Math.round(delayMs)} ms late`;
    note({ id: attack.id, class: attack.class, fell: verdict.fell, absent: null }, attack.title, figures);
  }
  for (const reader of TEXT_READERS.filter(({ id }) => wanted(id, "texts"))) {
    const { fell, told } = await readerTried(reader);
    note({ id: "texts", class: "texts", fell, absent: null }, reader.id, told);
  }
  const byTest = CASES.filter((one) => one.id in BY_TEST && wanted(one.id, one.class));
  const ended = await runTests(
    byTest.map(({ id }) => id),
    folder,
  );
  for (const { id, class: of, title } of byTest) note({ id, class: of, ...(ended.get(id) ?? UNSEEN) }, title);
  return outcomes;
}

/** Times of one text of its bound in the main thread, ms: the aim, and what has fallen. The square of a length takes far more. */
const [AIM_MS, MOST_TEXT_MS] = [50, 500];

/** Times a reader with hostile texts. */
async function readerTried(reader: TextReader): Promise<{ readonly fell: string[]; readonly told: string }> {
  const victim = fork(fileURLToPath(new URL("./text-victim.ts", import.meta.url)), [reader.id], { stdio: "inherit" });
  let found: ReturnType<typeof slowest> | null = null;
  victim.on("message", (message: ReturnType<typeof slowest>) => {
    found = message;
  });
  const timer = setTimeout(() => victim.kill("SIGKILL"), TEXTS_MS);
  await once(victim, "exit");
  clearTimeout(timer);
  return judged(reader, found);
}

/** Time for all texts of one reader, ms. */
const TEXTS_MS = 120_000;

function judged({ units, isApart }: TextReader, found: ReturnType<typeof slowest> | null) {
  if (!found) return { fell: [`its texts took more than ${TEXTS_MS} ms`], told: "" };
  const { ms, of, texts } = found;
  const told = `  ${ms.toFixed(1)} ms of ${of}, ${texts} texts of ${units} characters${isApart ? ", in a thread of its own" : ""}`;
  if (isApart || ms <= AIM_MS) return { fell: [], told };
  const late = `${told}; the aim is ${AIM_MS} ms`;
  return { fell: ms > MOST_TEXT_MS ? [`a text took ${Math.round(ms)} ms`] : [], told: late };
}

const UNSEEN = { fell: ["the test was not run"], absent: null } as const;

/** Tries that an attack has whose only fault is that something was late: other work on the machine is not late in all. */
const TRIES = 3;

async function tried(id: string, judging: Judging): Promise<Verdict> {
  for (let left = TRIES; ; left--) {
    const verdict = await attackIn(id, judging);
    if (verdict.late.length === 0 || left === 1) return { ...verdict, fell: [...verdict.fell, ...verdict.late] };
  }
}

async function attackIn(id: string, judging: Judging): Promise<Verdict> {
  const victim = fork(fileURLToPath(new URL("./victim.ts", import.meta.url)), [JSON.stringify({ id, judging })], {
    env: { ...process.env, [KEY_VARIABLE]: CANARY, BELAY_ATTACK_SECRET: CANARY },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // V8 lets a host's short-lived objects take 48 MB before it looks at them, after many execs of any kind.
    execArgv: ["--max-semi-space-size=1"],
  });
  let verdict: Verdict | null = null;
  let said = "";
  victim.on("message", (message: Verdict) => {
    verdict = message;
  });
  victim.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const timer = setTimeout(() => victim.kill("SIGKILL"), MOST_MS);
  const [code, signal] = await once(victim, "exit");
  clearTimeout(timer);
  const why = `the host ended with ${signal ?? code}: ${said.slice(-500)}`;
  return verdict ?? { ...{ id, class: "", title: "", fell: [why], late: [] }, ...{ ms: 0, rssBytes: 0, delayMs: 0 } };
}

/** Time that an attack may take at all, ms. */
const MOST_MS = 900_000;

/** Has these cases' tests run. A test that skips itself could not be done here. */
async function runTests(ids: readonly string[], folder: string): Promise<Map<string, Omit<Outcome, "id" | "class">>> {
  const ended = new Map<string, Omit<Outcome, "id" | "class">>();
  if (ids.length === 0) return ended;
  const tests = ids.map((id) => BY_TEST[id] ?? ["", ""]);
  const report = join(folder, "tests.json");
  const titles = tests.map(([, title]) => title).join("|");
  const files = [...new Set(tests.map(([file]) => file))];
  const args = ["vitest", "run", ...files, "-t", titles, "--reporter=json", `--outputFile=${report}`];
  await run("npx", args, { cwd: ROOT });
  const { testResults } = v.parse(REPORT, JSON.parse(readFileSync(report, "utf8")));
  for (const id of ids) {
    const [file, title] = BY_TEST[id] ?? ["", ""];
    const results = testResults.filter(({ name }) => name.endsWith(file)).flatMap((one) => one.assertionResults);
    ended.set(id, endOf(results.filter((result) => result.title.includes(title))));
  }
  return ended;
}

const RESULT = v.object({ title: v.string(), status: v.string(), failureMessages: v.array(v.string()) });
/** What vitest's JSON reporter writes, as far as it is looked at. */
const REPORT = v.object({
  testResults: v.array(v.object({ name: v.string(), assertionResults: v.array(RESULT) })),
});

function endOf(results: readonly v.InferOutput<typeof RESULT>[]): Omit<Outcome, "id" | "class"> {
  const isSkipped = results.length > 0 && results.every(({ status }) => status !== "passed" && status !== "failed");
  if (isSkipped) return { fell: [], absent: "its test skips itself on this machine" };
  const failed = results.filter(({ status }) => status === "failed");
  if (results.length === 0) return UNSEEN;
  return { fell: failed.map(({ failureMessages }) => failureMessages.join().slice(0, 500)), absent: null };
}
