import { type Compared, type ComparedCall, compareSessions, damagedIn, describeWhole } from "../../history/index.ts";
import { RlmError } from "../../index.ts";
import { amount, priced, thousands } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { redacted, redactedIn } from "../../platform/redact.ts";
import { inLine } from "../../platform/visible.ts";
import { type ComparedCounts, type ComparedRuns, compareRuns } from "../../runs/index.ts";
import type { RunRow, Store } from "../../store/index.ts";
import { runStore } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { ShowFlags } from "../commands/show.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import { firstWords } from "../render/calls.ts";
import { damageError, outcomeOf } from "../render/failure.ts";
import { type Column, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";
import { requestedSession, showingDamage, withStore } from "./open-store.ts";

/** Calls and documents of each kind on the page, and with --all or --json. */
const LISTED = 20;
const MOST = 1000;

/**
 * `belay show --against`: a session (null: the one changed last) or a run against
 * another one. Gives the exit code.
 */
export function showAgainst(args: Arguments, host: Host, own: ShowFlags, name: string | null, other: string) {
  const json = args.get(OUTPUT_FLAGS.json);
  const listed = own.all || json ? MOST : LISTED;
  return showingDamage(args, async ({ stdout, stderr }, tell) => {
    const { place, shown, flags } = runStore(args);

    function showJson(told: object, damage: RlmError | null): void {
      stdout.json({ ...outcomeOf(damage), ...(own.redact ? redactedIn(told) : told) });
    }

    return withStore(place, host, async (store) => {
      const runs = await runsMeant(store, name, other, flags);
      if (runs) {
        const [now, before] = runs;
        const { damaged, ...compared } = await compareRuns(store, now, before, listed);
        const damage = damageOf(damaged, now);
        tell(damage);
        if (!json) return showRuns(runs, compared, flags, stdout);
        const comparison = { against: namesOf(before), told: sentenceOf(compared.counts), ...compared };
        return showJson({ run: namesOf(now), compared: comparison }, damage);
      }
      const meant = await requestedSession(store, name, { shown, flags }, stderr);
      const older = await requestedSession(store, other, { shown, flags }, stderr);
      const one = await describeWhole(store, meant.id, PARTLY);
      const before = await describeWhole(store, older.id, PARTLY);
      const clean = own.redact ? { clean: redacted } : {};
      const compared = await compareSessions(store, one, before, { listed, ...clean });
      const damage = damageError([one, before].flatMap(({ session }) => damagedIn(session)));
      tell(damage);
      const session = { id: meant.id, name: meant.name };
      if (json) showJson({ session, compared }, damage);
      else showCompared(compared, [labelOf(name, session), labelOf(other, older)], stdout);
    });
  });
}

const PARTLY = { partly: true };

/** The session of a job has no name but that of its job. */
function labelOf(typed: string | null, session: Parameters<typeof displayName>[0]): string {
  return typed?.includes("/") ? inLine(typed) : displayName(session);
}

function showCompared(compared: Compared, names: readonly [string, string], stdout: Output): void {
  const { told, past } = compared;
  stdout.line(told, "bold");
  showSpent(compared, names, stdout);
  if (past.last) {
    const until = `${amount(past.calls, "call")}, the last one is call ${past.last.call} of exec ${past.last.exec}`;
    stdout.write(`past      both begin with the same ${until}\n`);
  }
  for (const [is, heading] of HEADINGS) showCalls(compared, is, heading, stdout);
  showDocuments(compared, stdout);
  for (const end of ["result", "answer"] as const) {
    const { hunks } = compared[end] ?? {};
    if (hunks) showListed(end, [hunks], 1, stdout);
  }
}

const HEADINGS = [
  ["again", "asked again, with the same prompt"],
  ["new", "new prompts"],
  ["gone", "not asked any more (numbers of the other session)"],
] as const;

function showCalls({ calls, counts }: Compared, is: ComparedCall["is"], heading: string, stdout: Output): void {
  const shown = calls.filter((call) => call.is === is);
  const rows = shown.map((call) => [
    `  exec ${call.exec}`,
    `call ${call.call}`,
    reasonOf(call),
    priced(call.cost_usd).join(""),
    firstWords(call.words),
  ]);
  showListed(heading, table(rows, COLUMNS, stdout), counts[is], stdout);
}

const COLUMNS: readonly Column[] = ["left", "left", "left", "right 1", "left"];

/** `document changed: a.md`, `answer above changed: exec 2, call 1`. */
function reasonOf({ is, why, documents, above }: ComparedCall): string {
  const what = documents.length > 0 ? documents.join(", ") : above ? `exec ${above.exec}, call ${above.call}` : "";
  if (why === null) return is === "gone" ? "" : "the reason is not recorded";
  return what === "" ? why : `${why}: ${what}`;
}

function showDocuments({ documents }: Compared, stdout: Output): void {
  for (const is of ["changed", "new", "gone"] as const) {
    const lines = documents?.listed[is].map((id) => `  ${inLine(id)}`) ?? [];
    const heading = is === "changed" ? "documents that changed" : `documents that are ${is}`;
    showListed(heading, lines, documents?.[is] ?? 0, stdout);
  }
}

/**
 * The runs that these names mean; null: they mean sessions. A name that both have is the session's.
 *
 * @param flags name the store in lines to type
 * @throws RlmError `invalid_argument` for a run and a session
 */
async function runsMeant(
  store: Store,
  name: string | null,
  other: string,
  flags: readonly string[],
): Promise<[RunRow, RunRow] | null> {
  if (name === null) return null;
  const runOf = async (typed: string) =>
    typed.includes("/") || (await store.find(typed)) ? null : store.jobs.run(typed);
  const now = await runOf(name);
  const before = await runOf(other);
  if (now && before) return [now, before];
  const [run, session] = now ? [now, other] : [before, name];
  if (!run || !(session.includes("/") || (await store.find(session)))) return null;
  throw new RlmError("invalid_argument", `${run.name} is a run, and ${session} is a session`, {
    suggestion: `Compare two runs, or two sessions: \`${commandLine(["show", `${run.name}/ID`, ...flags])}\` shows that of a job.`,
  });
}

const namesOf = ({ id, name }: RunRow) => ({ id, name });

/** The error for jobs that cannot be read; `null` if all can. */
function damageOf(damaged: ComparedRuns["damaged"], { name }: RunRow): RlmError | null {
  const cure = `\`${commandLine(["jobs", "rm", damaged[0]?.run ?? name])}\` drops the run with all its jobs`;
  const lines = damaged.map(({ run, problem }) => `run ${run}: ${problem}`);
  return damageError(lines, { cure });
}

function sentenceOf({ same, state, result, new: fresh, gone }: ComparedCounts): string {
  const all = same + state + result + fresh;
  const others = [
    [state, "in another state"],
    [fresh, "new"],
    [gone, "gone"],
  ] as const;
  const more = others.flatMap(([count, words]) => (count > 0 ? [`${thousands(count)} ${words}`] : []));
  return [`${thousands(result)} of ${amount(all, "job")} with another result`, ...more].join(", ");
}

/** @param flags name the store in lines to type */
function showRuns(
  [run, against]: readonly [RunRow, RunRow],
  compared: Omit<ComparedRuns, "damaged">,
  flags: readonly string[],
  stdout: Output,
): void {
  const { same_work, jobs, counts } = compared;
  stdout.write(`${sentenceOf(counts)}\n`, "bold");
  showSpent(compared, [inLine(run.name), inLine(against.name)], stdout);
  stdout.write(`work      ${same_work ? "the same script and settings" : "another script, or other settings"}\n`);
  if (jobs.length === 0) return;
  const rows = jobs.map(({ job, is, before: was, now: state, why }) => {
    const states = is === "state" ? `${was} → ${state}` : WORDS[is];
    return [`  ${job}`, states, why ?? ""];
  });
  const all = counts.state + counts.result + counts.new + counts.gone;
  showListed("jobs", table(rows, RUN_COLUMNS, stdout), all, stdout);
  const [one] = jobs.filter(({ before: was, now: state }) => was !== null && state !== null);
  if (!one) return;
  const line = ["show", `${run.name}/${one.job}`, "--against", `${against.name}/${one.job}`, ...flags];
  stdout.write(`\nthe calls of one of them: ${commandLine(line)}\n`, "dim");
}

/** The dollars of both, by their names. */
function showSpent(
  compared: Pick<ComparedRuns, "cost_usd" | "cost_usd_before">,
  [own, other]: readonly [string, string],
  stdout: Output,
): void {
  const [now, before] = [compared.cost_usd, compared.cost_usd_before].map((usd) => priced(usd).join("") || "no price");
  stdout.write(`spent     ${now} in ${own}, ${before} in ${other}\n`);
}

/**
 * The first lines of a list under its heading, and how many more there are; nothing of an empty
 * one.
 */
function showListed(heading: string, lines: readonly string[], all: number, stdout: Output): void {
  if (lines.length === 0) return;
  stdout.write(`\n${heading}\n`, "dim");
  for (const line of lines) stdout.write(`${line}\n`);
  if (all > lines.length) stdout.write(`  … ${amount(all - lines.length, "more", "more")}\n`, "dim");
}

const WORDS = { result: "another result", new: "new", gone: "gone" } as const;
const RUN_COLUMNS: readonly Column[] = ["left", "left", "left"];
