import { LIMITS } from "../../../runtime/index.ts";
import { isUnread, unreadSentence } from "../../context/index.ts";
import {
  type CheckpointDescription,
  damagedIn,
  describeWhole,
  type SessionDescription,
  type TextBounds,
  withBoundedTexts,
} from "../../history/index.ts";
import type { Exporting } from "../../history/telemetry/index.ts";
import { RlmError } from "../../index.ts";
import { ago, amount, compact, priced, size } from "../../platform/figures.ts";
import { displayName, idEnd } from "../../platform/ids.ts";
import { redactedIn } from "../../platform/redact.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { typedName } from "../../platform/shell-word.ts";
import { version } from "../../platform/version.ts";
import { inLine } from "../../platform/visible.ts";
import { type Refusal, refusalJson, refusalOf } from "../../runs/index.ts";
import { coverageLine, NEVER, REMARK_NAMES } from "../../session/index.ts";
import { isCollector } from "../../settings/index.ts";
import type { JobRow, Store } from "../../store/index.ts";
import { runStore } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { ShowFlags } from "../commands/show.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { tokenRemarks, waitsForText, waitText } from "../render/calls.ts";
import { damageError, failureText, outcomeOf } from "../render/failure.ts";
import { type Column, paragraph, table } from "../render/table.ts";
import type { Output, Terminal } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { type Page, resumeLine, showExecs, showLine } from "./exec-tree.ts";
import { newLine, onlyName, requestedSession, showingDamage, withStore } from "./open-store.ts";
import { type Detail, detailOf, showCall, showExec } from "./show-exec.ts";

/**
 * `belay show`: the execs, calls and checkpoints of one session. Gives the exit code: 1
 * also if some of it is damaged.
 */
export async function showCommand(args: Arguments, host: Host, own: ShowFlags): Promise<number> {
  const name = args.positionals.length === 0 ? null : onlyName(args, "show");
  if (own.against !== undefined) {
    const { showAgainst } = await import("./show-against.ts");
    return showAgainst(args, host, own, name, own.against);
  }
  const target = own.otlp === undefined ? null : spansTarget(own.otlp);
  return showingDamage(args, async (terminal, tell) => {
    const { stdout, stderr } = terminal;
    const place = runStore(args);
    const page: Page = { now: Date.now(), all: own.all === true, flags: place.flags };
    const isJson = args.get(OUTPUT_FLAGS.json);
    const description = await withStore(place.place, host, async (store) => {
      const meant = await requestedSession(store, name, place, stderr);
      const { id } = meant;
      if (target) {
        const { exportingOf } = await import("../../history/telemetry/index.ts");
        return { ...(await exportingOf(store, id, process.env)), target };
      }
      const children = own.all || isJson ? ALL_CHILDREN : CHILDREN;
      const { session, covered } = await describeWhole(store, id, { children, partly: true, readsContext: true });
      if (own.unread && !covered) {
        const suggestion = `Load one: \`${newLine(place.flags, typedName(session))}\`.`;
        const problem = `${displayName(session)} has no context, or it is lost`;
        throw new RlmError("context_not_loaded", problem, { suggestion });
      }
      const isPage = ![own.exec, own.last, own.call, own.unread, isJson].some(Boolean);
      const rerun = isPage ? await (await import("./rerun.ts")).rerunLines(store, meant, session, args) : [];
      const job = await jobMeant(store, name);
      const unread = own.unread && covered ? unreadIn(covered.largest(NEVER, MOST_UNREAD)) : null;
      const described = { session, unread, rerun, refusal: job && refusalOf(job) };
      // A key that a bound has cut would not be known any more.
      return own.redact ? redactedIn(described) : described;
    });
    const { session } = description;
    const damage = damageError(damagedIn(session));
    // An exec or call that is named may be one that cannot be read.
    tell(damage);
    if ("target" in description) return showSpans(description, description.target, place.flags, terminal);
    const detail = detailOf(own, session, page);
    const { unread } = description;
    if (isJson)
      stdout.json({ ...outcomeOf(damage), ...refused(description.refusal), ...jsonOf(session, detail, unread) });
    else if (unread) showUnread(unread, session, terminal);
    else if (!detail) {
      showSession(session, page, stdout);
      if (description.refusal) showRefusal(description.refusal, stdout);
      if (description.rerun.length > 0) stdout.write(`\n${description.rerun.join("\n")}\n`, "dim");
    } else if ("call" in detail) showCall(detail, session, { ...page, all: false }, stdout);
    else showExec(detail.exec, session, { ...page, all: false }, stdout);
  });
}

/** The job whose session `RUN/ID` names; null: the name is another one, or there is no such job. */
async function jobMeant({ jobs }: Pick<Store, "jobs">, name: string | null): Promise<JobRow | null> {
  const at = name?.indexOf("/") ?? -1;
  if (name === null || at === -1) return null;
  const run = await jobs.run(name.slice(0, at));
  return run && jobs.find(run.id, name.slice(at + 1));
}

/** The last refusal of a provider that the job of the session has met, for programs. */
const refused = (refusal: Refusal | null) => (refusal ? { refusal: refusalJson(refusal) } : {});

function showRefusal(refusal: Refusal, output: Output): void {
  output.write(
    `\nlast refusal, ${ago(Date.now() - refusal.at)}: ${inLine(failureText(refusal, REFUSAL_UNITS))}\n`,
    "yellow",
  );
  if (refusal.suggestion !== "") output.line(`suggestion: ${inFlags(refusal.suggestion)}`);
}

const REFUSAL_UNITS = 500;

/** Documents that are listed if no exec has opened them: a small context has no more. */
const MOST_UNREAD = LIMITS.files;

/** A document that no exec has opened. */
interface UnreadDocument {
  readonly id: string;
  readonly chars: number;
}

const unreadIn = (documents: readonly UnreadDocument[]) => documents.map(({ id, chars }) => ({ id, chars }));

/** The number of documents that were never opened beyond those that are listed. */
const unlisted = ({ coverage }: SessionDescription, listed: readonly UnreadDocument[]) =>
  (coverage?.documents.never ?? 0) - listed.length;

/**
 * Prints the ids of documents that were never opened, then files of the load that could not be
 * read.
 */
function showUnread(
  unread: readonly UnreadDocument[],
  session: SessionDescription,
  { stdout, stderr }: Terminal,
): void {
  for (const { id } of unread) stdout.line(id);
  const left = unlisted(session, unread);
  if (left > 0) stderr.write(`${amount(left, "more document was", "more documents were")} never opened\n`);
  const { skipped } = session;
  const failed = skipped?.files.filter(({ reason }) => isUnread(reason)) ?? [];
  for (const { path, reason } of failed) stdout.write(`${inLine(path)}: could not be read: ${inLine(reason)}\n`);
  const more = (skipped?.unread ?? 0) - failed.length;
  if (more > 0) stderr.write(`${amount(more, "more file")} could not be read\n`);
  if (unread.length === 0 && failed.length === 0)
    stderr.write("every document was opened since the last load, according to the records\n");
}

/** The number of described sessions that answer calls: each is read from the store. */
const CHILDREN = 50;
const ALL_CHILDREN = 1000;

function jsonOf(session: SessionDescription, detail: Detail | null, unread: readonly UnreadDocument[] | null): object {
  const { id, name } = session;
  if (unread) {
    const left = unlisted(session, unread);
    return { session: { id, name }, unread, ...(left > 0 ? { more: left } : {}), skipped: session.skipped ?? null };
  }
  if (!detail) return { session: withBoundedTexts(session) };
  if ("call" in detail) return { session: { id, name }, exec: detail.exec.number, call: detail.call };
  const [exec] = withBoundedTexts({ ...session, execs: [detail.exec] }, WHOLE_TEXTS).execs;
  return { session: { id, name }, exec };
}

/** An exec that is named is whole, unless it would not fit into one string of JavaScript. */
const WHOLE_TEXTS: TextBounds = { each: Number.MAX_SAFE_INTEGER, all: 128 * 2 ** 20, little: 200 };

/** A page for people. */
export function showSession(found: SessionDescription, page: Page, output: Output): void {
  const { id, status, created_at, changed_at, context, sub_calls, tokens, cost_usd, bytes, holder } = found;
  const since = (at: number) => ago(page.now - at);
  output.write(displayName(found), "bold");
  output.write(`  ${status}${holder ? ` in process ${holder.pid}` : ""}\n`);
  output.write(`id        ${id}\n`);
  for (const name of REMARK_NAMES)
    if (found[name] !== null) output.write(`${name.padEnd(10)}${inLine(found[name] ?? "")}\n`);
  if (found.forked_from !== null) output.write(`forked    from ${idEnd(found.forked_from)}\n`);
  output.write(`begun     ${since(created_at)}, changed ${since(changed_at)}\n`);
  const extent = context ? ` (${amount(context.chars, "character")}, ${context.hash.slice(0, 12)})` : "";
  output.write(`context   ${context ? inLine(context.sources.join(", ")) : "none"}${extent}\n`);
  const unread = found.skipped ? unreadSentence(found.skipped, showLine(found, page, "--unread")) : null;
  if (unread !== null) output.write(`unread    ${unread}\n`);
  if (found.coverage) output.write(`coverage  ${coverageLine(found.coverage)}\n`);
  const spent = [
    `${compact(tokens)} tokens`,
    ...priced(cost_usd),
    ...tokenRemarks(found.execs.flatMap(({ calls }) => calls)),
  ];
  const took = [amount(sub_calls, "sub-call"), ...spent, `${size(bytes)} kept`];
  output.write(`took      ${took.join(" · ")}\n`);
  output.write(`\n${found.execs.length === 0 ? "no execs yet" : "execs"}\n`, "dim");
  showExecs(found, page, output);
  showCheckpoints(found, page, output);
  for (const wait of found.waits ?? []) {
    output.write(`\n${waitText(wait, amount(wait.calls, "call waits", "calls wait"))}\n`);
  }
  showWait(found, page, output);
  if (status === "unfinished") output.write(`\nunfinished: ${resumeLine(found, page)}\n`, "yellow");
}

/** Prints the failure that its unfinished exec waits for, and what helps. */
function showWait({ waits_for }: SessionDescription, { now }: Page, output: Output): void {
  if (!waits_for) return;
  output.write(`\n${waitsForText(waits_for, now)}\n`, "yellow");
  if (waits_for.suggestion !== "") output.line(`suggestion: ${inFlags(waits_for.suggestion)}`);
}

const CHECKPOINTS_SHOWN = 40;

function showCheckpoints(session: SessionDescription, page: Page, output: Output): void {
  const { now, all } = page;
  const { checkpoints, execs } = session;
  if (checkpoints.length === 0) return;
  output.write(`\n${output.isTerminal ? paragraph(CHECKPOINTS_HEAD, output.columns) : CHECKPOINTS_HEAD}\n`, "dim");
  const tree = treeOf(checkpoints);
  const earlier = all ? 0 : Math.max(0, tree.length - CHECKPOINTS_SHOWN);
  if (earlier > 0)
    output.write(`… ${amount(earlier, "earlier checkpoint")}: ${showLine(session, page, "--all")}\n`, "dim");
  const numbers = new Map(execs.map(({ exec_id, number }) => [exec_id, number]));
  const rows = tree
    .slice(earlier)
    .map(({ checkpoint: { id, kind, exec_id, at, pages, bytes, head }, depth }) => [
      `${head ? "*" : " "} ${"  ".repeat(depth)}${idEnd(id)}`,
      kind,
      numbers.has(exec_id) ? `exec ${numbers.get(exec_id)}` : "",
      ago(now - at),
      amount(pages, "page"),
      size(bytes),
    ]);
  for (const line of table(rows, CHECKPOINT_COLUMNS, output)) output.write(`${line}\n`);
}

const CHECKPOINTS_HEAD = "checkpoints (* the current one; `belay fork SESSION@CHECKPOINT` starts from another)";

const CHECKPOINT_COLUMNS: readonly Column[] = ["left", "left", "left", "right 3", "right 1", "right 2"];

/**
 * Checkpoints under their parents. The newest line of them keeps its column, so that a
 * session without branches is a list.
 */
export function treeOf(checkpoints: readonly CheckpointDescription[]) {
  const known = new Set(checkpoints.map(({ id }) => id));
  const children = Map.groupBy(checkpoints, ({ parent }) => (parent !== null && known.has(parent) ? parent : null));
  const rows: { checkpoint: CheckpointDescription; depth: number }[] = [];
  // A stack of its own: a long session is a deep tree.
  const waiting = (children.get(null) ?? []).map((checkpoint) => ({ checkpoint, depth: 0 })).toReversed();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { checkpoint, depth } = next;
    rows.push(next);
    const own = children.get(checkpoint.id) ?? [];
    const main = own.at(-1);
    if (main) waiting.push({ checkpoint: main, depth });
    for (const branch of own.slice(0, -1).toReversed()) waiting.push({ checkpoint: branch, depth: depth + 1 });
  }
  return rows;
}

/** The place that spans go to: a file, stdout, or a collector. */
type SpansTarget = { readonly file: string } | { readonly url: string } | "stdout";

/** @throws UsageError for a URL that no collector can have */
function spansTarget(typed: string): SpansTarget {
  if (typed === "-") return "stdout";
  if (isCollector(typed)) return { url: typed };
  if (!typed.includes("://")) return { file: typed };
  const problem = "--otlp takes a file, -, or an address such as http://127.0.0.1:4318 without user and password";
  throw new UsageError(problem, commandLine(["help", "show"]));
}

/**
 * Writes or sends the spans of a session.
 * @param flags name the store in lines to type
 * @throws RlmError `otlp_failed`, `output_failed`
 */
async function showSpans(
  exporting: Exporting,
  target: SpansTarget,
  flags: readonly string[],
  { stdout, stderr }: Terminal,
) {
  const { linesOf, sendLines, spansOf } = await import("../../history/telemetry/index.ts");
  const lines = linesOf(spansOf(exporting), version());
  if (target === "stdout") {
    for (const { text } of lines) stdout.writeRaw(`${text}\n`);
  } else if ("file" in target) {
    let written = 0;
    const pieces = lines.map(({ text, spans }) => {
      written += spans;
      return `${text}\n`;
    });
    await writeResultFile(target.file, pieces, exporting.session.id);
    stderr.write(`wrote ${amount(written, "span")} to ${inLine(target.file)}\n`, "dim");
  } else {
    const { spans, requests, rejected, problem } = await sendLines(lines, { url: target.url, env: process.env }, null);
    const sent = `${amount(spans, "span")} in ${amount(requests, "request")}`;
    if (rejected > 0)
      stderr.write(`otlp_failed: the collector rejected ${rejected} of ${amount(spans, "span")}\n`, "yellow");
    if (problem === null) return stderr.write(`sent ${sent}\n`);
    const line = commandLine(["show", typedName(exporting.session), "--otlp", "FILE", ...flags]);
    const place = new URL(target.url).origin;
    throw new RlmError("otlp_failed", `the collector at ${place} took ${sent}, and not the rest: ${problem}`, {
      suggestion: `Check the URL and OTEL_EXPORTER_OTLP_HEADERS; \`${line}\` keeps the spans.`,
    });
  }
}
