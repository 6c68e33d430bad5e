import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { describeExecs } from "../../history/index.ts";
import { canBeChosen, readableRows, summaryOf } from "../../session/index.ts";
import type { Signer } from "../../settings/signed-settings.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import type { AskedWorkflow } from "../flags/session-flags.ts";
import { keptSettings, recordedSettings } from "../session/recorded-settings.ts";

/** A mark of all that a run is asked: other limits and other entries of agents change nothing. */
export function markOf(asked: string, reuse: AskedWorkflow["reuse"]): string {
  return reuse === null ? asked : hash("sha256", JSON.stringify([asked, reuse.session, reuse.only ?? null]));
}

const NAME_UNITS = 40;
const MARK_UNITS = 6;

/** The name of a run: that of its workflow with a beginning of its mark, `audit-f06ce6`. */
export function usualName({ name, mark }: Pick<AskedWorkflow, "name" | "mark">): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, NAME_UNITS)
    .replaceAll(/^-|-$/g, "");
  return `${plain || "workflow"}-${mark.slice(0, MARK_UNITS)}`;
}

/** The run whose session is looked for. */
interface WantedRun {
  readonly mark: string;
  /** A run whose end has been reported is passed over, so that it is run again. */
  readonly isNew: boolean;
  /** The user has typed the name: one of their sessions that has no run is meant. */
  readonly isTyped: boolean;
  /** Only what this user has recorded keeps a run from being run again. */
  readonly signer: Signer;
}

/** The name of the session of a run: the first of NAME, NAME-2, … that is free or has the same run. */
export async function nameOfRun(store: Pick<Store, "find">, base: string, wanted: WantedRun): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    const row = await store.find(name);
    if (!row) return name;
    const workflow = workflowOf(row);
    if (workflow === null && wanted.isTyped && number === 1) return name;
    const { status, last } = summaryOf(row);
    const hasEnded = status === "idle" && last !== null;
    const isPast = wanted.isNew && hasEnded && !isUnreported(row, wanted.signer);
    if (workflow?.mark === wanted.mark && !isPast) return name;
  }
}

const isUnreported = (row: SessionRow, signer: Signer) =>
  recordedSettings(row, signer)?.kept?.first.workflow?.unreported === true;

/** An earlier run of a script. */
export interface EarlierRun {
  readonly name: string;
  /** It was asked the same: its line named a run whose answers it took over. */
  readonly isSame: boolean;
  /** Sub-calls that have an answer, and what they cost. */
  readonly answers: number;
  readonly cost_usd: number;
}

/**
 * The run that was asked the same in another way, or else the newest run of the same file or name
 * if its script was another one; null: there is none, or the newest had this script.
 *
 * @param signer only what this user has recorded counts
 */
export async function earlierRun(store: Store, asked: AskedWorkflow, signer: Signer): Promise<EarlierRun | null> {
  const { found } = await readableRows(store);
  const runs = found.filter((row) => canBeChosen(row) && isOfSame(row, asked));
  const signed = runs.filter((row) => recordedSettings(row, signer)?.kept);
  const newestFirst = signed.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const isSame = (one: AskedWorkflow | null) => one?.asked === asked.asked && one.reuse?.only === undefined;
  const same = newestFirst.find((row) => isSame(workflowOf(row)));
  if (same) return { name: same.name ?? same.id, isSame: true, answers: 0, cost_usd: 0 };
  const [newest] = newestFirst;
  if (!newest || workflowOf(newest)?.text === asked.text) return null;
  const journal = await store.journal(newest.id);
  const calls = describeExecs(journal.map(({ record }) => record)).flatMap((exec) => exec.calls);
  const answered = calls.filter(({ prompt, status }) => prompt !== null && status === "ok");
  const cost_usd = answered.reduce((sum, call) => sum + call.cost_usd, 0);
  return { name: newest.name ?? newest.id, isSame: false, answers: answered.length, cost_usd };
}

const workflowOf = (row: SessionRow) => keptSettings(row.settings)?.first.workflow ?? null;

/**
 * True for a run of the same file, or of a file that has the same name for itself: one in the same
 * folder, or one that is gone. Another project may have a script of that name too.
 */
function isOfSame(row: SessionRow, { name, file }: AskedWorkflow): boolean {
  const kept = keptSettings(row.settings)?.first;
  const workflow = kept?.workflow;
  if (!workflow || workflow.file === file) return workflow?.file === file;
  return workflow.name === name && (kept.cwd === process.cwd() || !existsSync(workflow.file));
}
