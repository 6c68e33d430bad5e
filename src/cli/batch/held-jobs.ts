import type { HeldBack } from "../../index.ts";
import { amount, dollars } from "../../platform/figures.ts";
import { roundedUp } from "../../session/index.ts";
import type { Amount, Jobs, RunRow } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";

/** Jobs of a run that wait for what calls by batch hold of its limit. */
export interface HeldJobs {
  /** The number of them, among the first 1,000 that are parked. */
  readonly jobs: number;
  /** Calls that hold something. */
  readonly by: number;
  readonly of: HeldBack["of"] | "sub-calls";
  /** The limit under which all of them would go at once, by what a call holds now. */
  readonly raise_to: number;
}

/** null: no job waits for that. */
export async function heldJobs(jobs: Pick<Jobs, "list">, run: RunRow, parked: number): Promise<HeldJobs | null> {
  if (parked === 0 || run.held.sub_calls === 0) return null;
  const rows = await jobs.list(run.id, { states: ["parked"], from: 0, limit: 1000 });
  const waiting = rows.filter(({ why }) => why === "held").length;
  return waiting === 0 ? null : heldJobsOf(run, waiting);
}

/** @param jobs that wait */
function heldJobsOf({ limits, spent, held, doubtful }: Purse, jobs: number): HeldJobs | null {
  const by = Math.max(1, held.sub_calls);
  const wanted = (kind: keyof Amount) => spent[kind] + held[kind] + doubtful[kind] + (jobs * held[kind]) / by;
  const short = KINDS.find((kind) => wanted(kind) > (limits[kind] ?? Number.POSITIVE_INFINITY));
  if (short === undefined) return null;
  return { jobs, by: held.sub_calls, of: NAMES[short], raise_to: limitFor(short, wanted(short)) };
}

/** The value of the flag under which so much has room, in dollars or in what it counts. */
const limitFor = (kind: keyof Amount, wanted: number) =>
  kind === "nanodollars" ? Math.ceil(wanted / 1e7) / 100 : roundedUp(wanted);

type Purse = Pick<RunRow, "limits" | "spent" | "held" | "doubtful">;

const KINDS = ["tokens", "nanodollars", "sub_calls"] as const;
const NAMES = { tokens: "tokens", nanodollars: "dollars", sub_calls: "sub-calls" } as const;
const FLAGS = {
  tokens: RUN_LIMITS.tokens.name,
  dollars: RUN_LIMITS.nanodollars.name,
  "sub-calls": RUN_LIMITS.sub_calls.name,
};

/** `179 jobs wait for tokens held by 121 calls: raise --run-max-tokens to 1250000`. */
export function heldJobsText({ jobs, by, of, raise_to }: HeldJobs): string {
  const wait = `${amount(jobs, "job waits", "jobs wait")} for ${of} held by ${amount(by, "call")}`;
  return `${wait}: raise --${FLAGS[of]} to ${raise_to}`;
}

/** By batch the calls of all jobs hold what they may take at once; null: the limits of the run have room for that. */
export function heldByAll(limits: RunRow["limits"], all: Amount): string | null {
  const short = KINDS.find((kind) => all[kind] > (limits[kind] ?? Number.POSITIVE_INFINITY));
  if (short === undefined) return null;
  const limit = limits[short] ?? 0;
  const share = Math.floor((100 * limit) / all[short]);
  const room = short === "nanodollars" ? dollars(limit / 1e9) : `${limit} ${NAMES[short]}`;
  const flag = RUN_LIMITS[short].name;
  return `by batch ${room} have room for about ${share} % of the calls at once, and the others wait for the first wave: raise --${flag} to ${limitFor(short, all[short])}`;
}
