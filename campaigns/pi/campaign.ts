import { appendFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { readRecord } from "../../src/session/journal/records.ts";
import { everySession } from "../../src/store/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/port.ts";
import { CELL_FILES, cellOf, promptOf, workflowOf } from "../../tests/support/pi/cells.ts";
import { FAULT_VARIABLE, type PiFault } from "../../tests/support/pi/fault.ts";
import type { Pi, PiLine } from "../../tests/support/pi/process.ts";
import { loadedIn, type PiScene, piScene } from "../../tests/support/pi/scene.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { judged, type Settled } from "./judge.ts";

export interface PiCampaignOptions {
  readonly lines: readonly PiLine[];
  /** Sessions of each line, and cells of each session: a process for every cell, if none is killed while it recovers. */
  readonly sessions: number;
  readonly cells: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export interface PiCampaignReport {
  processes: number;
  kills: number;
  subCalls: number;
  /** A line for each finding. */
  readonly mismatches: string[];
}

/** Kills Pi processes by chance, while they run a cell or a workflow and while they recover one, and judges what the session comes to. */
export async function piCampaign(options: PiCampaignOptions): Promise<PiCampaignReport> {
  const report: PiCampaignReport = { processes: 0, kills: 0, subCalls: 0, mismatches: [] };
  for (let n = 0; n < options.sessions; n++) {
    for (const line of options.lines) {
      const name = `${line.version} session ${n}`;
      const findings = await session(line, options, seededRandom(options.seed * 1000 + n), report).catch(
        (error: unknown) => [error instanceof Error ? error.message : String(error)],
      );
      report.mismatches.push(...findings.map((finding) => `${name}: ${finding}`));
      options.say([name, ...findings].join("\n  "));
    }
  }
  return report;
}

async function session(
  line: PiLine,
  { cells }: PiCampaignOptions,
  random: () => number,
  report: PiCampaignReport,
): Promise<readonly string[]> {
  const delayMs = () => random() * 200;
  await using scene = await piScene(line, { files: CELL_FILES, settings: { agents: {} }, delayMs });
  const { pi: first, file } = await loadedIn(scene);
  await first.kill();
  const settled: Settled = new Map();
  for (let n = 0; n < cells; ) {
    const dies = random() < 0.3;
    const pi = scene.start(file, dies ? { [FAULT_VARIABLE]: JSON.stringify(faultBy(random)) } : {});
    report.processes++;
    const cell = n;
    const ran = await life(scene, pi, cell, random);
    if (ran) n++;
    await pi.kill();
    report.kills++;
    if (random() < 0.3) appendFileSync(file, '{"type":"custom","customType":"rlm_tool_res');
    await settle(scene, settled);
  }
  report.subCalls += scene.model.subCalls().length;
  return await judged(scene, file, cells, settled);
}

/** One process: recovers, then runs a cell, and dies somewhere. Answers whether it was asked to run the cell. */
async function life({ model }: PiScene, pi: Pi, n: number, random: () => number): Promise<boolean> {
  const ended = pi.ended.then(() => "ended" as const);
  const over = (work: Promise<unknown>) =>
    Promise.race([
      ended,
      work.then(
        () => "done" as const,
        // What fails with the end of the process is no finding.
        (error: unknown) => setImmediate().then(() => Promise.reject(error)),
      ),
    ]);
  // It goes out when recovery is over.
  if ((await over(pi.prompt(model.plan(`hello ${n}`)))) === "ended") return false;
  if (random() < 0.5 && (await over(pi.prompt(`/fault ${JSON.stringify(faultBy(random))}`))) === "ended") return false;
  const from = pi.events.length;
  const call = random() < 0.4 ? workflowOf(n) : cellOf(n);
  pi.send({ type: "prompt", message: model.plan(promptOf(n), call) });
  const timer = setTimeout(() => void pi.kill(), random() * 1500);
  await over(pi.until(({ type }) => type === "agent_end", from));
  clearTimeout(timer);
  return true;
}

const RECORDS = ["rlm_start", "rlm_resume", "rlm_tool_call", "rlm_tool_result", "rlm_complete"] as const;

function faultBy(random: () => number): PiFault {
  const record = RECORDS[Math.floor(random() * RECORDS.length)] ?? "rlm_start";
  const at = random() < 0.6 || record === "rlm_resume" ? "commit" : "entry";
  return { at, record, side: random() < 0.5 ? "before" : "after", nth: random() < 0.7 ? 1 : 2 };
}

/** Notes the results that the store has: what they answer must not be asked again. */
async function settle({ home, model }: PiScene, settled: Settled): Promise<void> {
  await using store = await openStore(home.belay);
  for (const prompt of await answeredIn(store)) {
    if (!settled.has(prompt)) settled.set(prompt, model.subCalls().filter((text) => text === prompt).length);
  }
}

async function answeredIn(store: Store): Promise<readonly string[]> {
  const prompts = new Map<string, string>();
  const answered: string[] = [];
  for await (const { id } of everySession(store)) {
    for (const row of await store.journal(id)) {
      const record = readRecord(row.record);
      if (record.record === "rlm_tool_call") prompts.set(record.call_id, String(record.args[0]));
      if (record.record === "rlm_tool_result") answered.push(prompts.get(record.call_id) ?? "");
    }
  }
  return answered;
}
