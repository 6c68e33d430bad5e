import { type Compared, type ComparedCall, compareSessions, damagedIn, describeWhole } from "../../history/index.ts";
import type { RlmError } from "../../index.ts";
import { amount, priced } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { redacted, redactedIn } from "../../platform/redact.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import { runStore } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { ShowFlags } from "../commands/show.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { firstWords } from "../render/calls.ts";
import { damageError, outcomeOf } from "../render/failure.ts";
import { type Column, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";
import { sessionAsked, showingDamage, withStore } from "./opened-store.ts";
import { compareRuns, runsMeant, showListed, showRuns, showSpent } from "./runs-against.ts";

/** Calls and documents of each kind on the page, and with --all or --json. */
const LISTED = 20;
const MOST = 1000;

/**
 * `belay show --against`: a session (null: the one changed last) or a run against
 * another one. Gives the exit code.
 */
export function showAgainst(args: Arguments, host: Host, own: ShowFlags, name: string | null, other: string) {
  const json = args.get(JSON_OUTPUT);
  const listed = own.all || json ? MOST : LISTED;
  return showingDamage(args, async ({ stdout, stderr }, tell) => {
    const { place, shown, flags } = runStore(args);

    function showJson(told: object, damage: RlmError | null): void {
      stdout.writeRaw(`${jsonText({ ...outcomeOf(damage), ...(own.redact ? redactedIn(told) : told) })}\n`);
    }

    return withStore(place, host, async (store) => {
      const runs = await runsMeant(store, name, other, flags);
      if (runs) {
        const { damage, ...both } = await compareRuns(store, runs, listed);
        tell(damage);
        return json ? showJson(both, damage) : showRuns(both, flags, stdout);
      }
      const meant = await sessionAsked(store, name, { shown, flags }, stderr);
      const older = await sessionAsked(store, other, { shown, flags }, stderr);
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
  stdout.write(`${inLine(told)}\n`, "bold");
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
