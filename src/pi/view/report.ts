import { RlmError } from "../../../runtime/index.ts";
import {
  type CallDescription,
  callsSeen,
  describeSession,
  type ExecDescription,
  type SessionDescription,
  type WalkedCall,
  type WalkedExec,
  type WalkedSession,
  walk,
} from "../../history/index.ts";
import { ago, amount, compact, duration, priced } from "../../platform/figures.ts";
import { idEnd } from "../../platform/ids.ts";
import type { Store } from "../../store/index.ts";
import type { BranchView } from "../branch/entries.ts";
import type { NextSize } from "../externalize/asked.ts";
import type { Overview, PastCompaction, PastEpoch, SaidObject } from "../externalize/overview.ts";
import { type Item, item, itemsInColumns } from "./item.ts";

import { jsonText } from "./texts.ts";

/** The report on a branch: objects outside, and execs. */
export interface BranchReport {
  readonly overview: Overview;
  readonly size: NextSize;
  readonly sessions: readonly SessionReport[];
}

/** A session of Belay that execs of the branch ran in. */
interface SessionReport {
  readonly id: string;
  /** `null` if the store does not tell; `problem` says why. */
  readonly session: SessionDescription | null;
  /** The execs that began on the branch, with turns and cells of asks. */
  readonly execs: readonly ExecDescription[];
  readonly problem: string | null;
}

/** The number of children that are described, those of the newest execs first. */
const CHILDREN = 200;

/** The store's descriptions of the execs of a branch. */
export async function sessionsOf(
  { starts }: Pick<BranchView, "starts">,
  open: () => Promise<{ readonly store: Store }>,
): Promise<readonly SessionReport[]> {
  const bySession = Map.groupBy(starts, ({ session }) => session);
  return Promise.all(
    [...bySession].map(async ([id, begun]) => {
      try {
        const session = await describeSession((await open()).store, id, { children: CHILDREN });
        return { id, session, execs: execsOf(session, new Set(begun.map(({ exec_id }) => exec_id))), problem: null };
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        return { id, session: null, execs: [], problem: `${error.code}: ${error.message}` };
      }
    }),
  );
}

/** Execs that began on the branch, and turns and cells of asks that did. */
function execsOf({ execs }: SessionDescription, begun: ReadonlySet<string>): readonly ExecDescription[] {
  const taken = new Set<number>();
  for (const { exec_id, number, parent } of execs) {
    if (begun.has(exec_id) || (parent !== null && taken.has(parent))) taken.add(number);
  }
  return execs.filter(({ number }) => taken.has(number));
}

/** Epochs, compactions, and the calls under what made them. @param now ms since the epoch */
export function traceItems({ overview, sessions }: BranchReport, now: number): readonly Item[] {
  return [
    ...epochItems(overview.epochs, now),
    ...compactionItems(overview.compactions, now),
    ...sessionItems(sessions),
  ];
}

/** The same with every text of the conversation, the newest first. */
export function inspectItems(report: BranchReport, now: number): readonly Item[] {
  return [
    item(0, "plain", [conversationLine(report)]),
    ...traceItems(report, now),
    ...objectItems(report.overview.objects.toReversed()),
  ];
}

/** `41 of 120 objects outside · 61k of 150k tokens · next request 62k of 200k` */
export function conversationLine({ overview: { objects, isOff }, size }: BranchReport): string {
  const out = objects.filter(({ is }) => is !== "in");
  const tokens = (of: readonly SaidObject[]) => of.reduce((sum, object) => sum + object.tokens, 0);
  return [
    ...(isOff ? ["off on this branch"] : []),
    `${out.length} of ${amount(objects.length, "object")} outside`,
    `${compact(tokens(out))} of ${compact(tokens(objects))} tokens`,
    `next request ${compact(size.tokens)}${size.window === null ? "" : ` of ${compact(size.window)}`}`,
  ].join(" · ");
}

function epochItems(epochs: readonly PastEpoch[], now: number): readonly Item[] {
  const rows = epochs.map(({ epoch, cause, before, after, objects, at }) => [
    String(epoch),
    CAUSES[cause],
    `${compact(before)} → ${compact(after)} tokens`,
    `${amount(objects, "object")} outside`,
    since(at, now),
  ]);
  return section("epochs", "none yet", rows);
}

const CAUSES = {
  threshold: "the window filled",
  manual: "asked for",
  valve: "too large at once",
  model: "another model",
};

function compactionItems(compactions: readonly PastCompaction[], now: number): readonly Item[] {
  const rows = compactions.map(({ by, before, at }) => [
    by === "belay" ? "by Belay, without a model" : "by Pi",
    before === null ? "" : `${compact(before)} tokens before`,
    since(at, now),
  ]);
  return section("compactions", "none", rows);
}

function sessionItems(sessions: readonly SessionReport[]): readonly Item[] {
  if (sessions.length === 0) return section("calls", "none: RLM was not used on this branch", []);
  return [
    item(0, "heading", ["calls"]),
    ...sessions.flatMap(({ id, session, execs, problem }) => [
      item(1, "quiet", [`session ${idEnd(id)}`]),
      ...(session ? callTree(session, execs, 2) : [item(2, "bad", [problem])]),
    ]),
  ];
}

const OBJECT_STYLES = { in: "plain", out: "good", folded: "quiet" } as const;

/** Texts of the conversation, in the order given. */
function objectItems(objects: readonly SaidObject[]): readonly Item[] {
  const rows = objects.map((object) => ({
    cells: objectRow(object),
    style: OBJECT_STYLES[object.is],
    whole: () => object.text(),
  }));
  return [item(0, "heading", ["objects of the conversation, the newest first"]), ...itemsInColumns(1, rows)];
}

/** Columns of an object: id, what is sent, kind, tokens, description. */
export function objectRow({ id, is, kind, tokens, description }: Omit<SaidObject, "text" | "is"> & { is: string }) {
  return [id, is, kind, `${compact(tokens)} ${tokens === 1 ? "token" : "tokens"}`, description];
}

function section(title: string, none: string, rows: readonly (readonly string[])[]): readonly Item[] {
  const head = item(0, "heading", [title]);
  if (rows.length === 0) return [head, item(1, "quiet", [none])];
  const lines = rows.map((cells) => ({ cells, style: "plain" }) as const);
  return [head, ...itemsInColumns(1, lines)];
}

const since = (at: number | null, now: number) => (at === null ? "" : ago(now - at));

/**
 * A line of the file of `/rlm trace`: a conversation, an epoch, a compaction, a session, an exec or
 * a call.
 */
type TraceRecord = { readonly record: string; readonly [field: string]: unknown };

/**
 * Epochs, compactions, sessions, and each exec and sub-call with the one that made it. Times are ms
 * since 1970.
 */
export function traceRecords({ overview, size, sessions }: BranchReport): readonly TraceRecord[] {
  const { objects, epochs, compactions, isOff } = overview;
  const counts = Object.fromEntries(
    (["in", "out", "folded"] as const).map((state) => [state, objects.filter(({ is }) => is === state).length]),
  );
  return [
    { record: "conversation", objects: counts, off: isOff, next_request: size },
    ...epochs.map((epoch) => ({ record: "epoch", ...epoch })),
    ...compactions.map((compaction) => ({ record: "compaction", ...compaction })),
    ...sessions.flatMap(({ id, session, execs, problem }) => [
      { record: "session", session: id, parent_call: null, problem },
      ...(session ? recordsOf(session, execs) : []),
    ]),
  ];
}

/**
 * Execs and calls of a session. The records of a session that answers a call stand after the call.
 */
function recordsOf(session: SessionDescription, execs: readonly ExecDescription[]): readonly TraceRecord[] {
  const records: TraceRecord[] = [];
  for (const step of walk(session, { execs: (one) => (one === session ? execs : one.execs) })) {
    if (step.is === "session" && step.call) {
      const parent_call = step.call.call.call_id;
      records.push({ record: "session", session: step.session.id, parent_call, problem: null });
    } else if (step.is === "exec") {
      const { calls: _, ...exec } = step.exec;
      records.push({ record: "exec", session: step.in.session.id, ...exec });
    } else if (step.is === "call") {
      const { child, ...call } = step.call;
      const { exec } = step.of;
      const answered = { ...call, child: child?.session ?? null };
      records.push({ record: "call", session: step.of.in.session.id, exec_id: exec.exec_id, ...answered });
    }
  }
  return records;
}

/**
 * Execs of a session with their sub-calls, and those of the children that answer them, each under
 * what made it.
 */
function callTree(session: SessionDescription, execs: readonly ExecDescription[], depth: number): Item[] {
  const indentOf = (step: WalkedSession | WalkedExec | WalkedCall): number => {
    if (step.is === "exec") return indentOf(step.in) + step.level;
    if (step.is === "call") return indentOf(step.of) + 1;
    return step.call ? indentOf(step.call) + 2 : depth;
  };
  const shown = (one: SessionDescription) => (one === session ? execs : one.execs);
  const items: Item[] = [];
  for (const step of walk(session, { execs: shown, calls: ({ exec }) => callsSeen(exec) })) {
    if (step.is === "exec") items.push(execItem(step.exec, indentOf(step)));
    else if (step.is === "call") items.push(...callItems(step.call, indentOf(step)));
    else if (step.is === "session" && shown(step.session).length === 0)
      items.push(item(indentOf(step), "quiet", [`nothing ran in session ${idEnd(step.session.id)}`]));
  }
  return items;
}

function execItem(exec: ExecDescription, depth: number): Item {
  const { number, kind, status, error_code, input, turn, time_ms, tokens, cost_usd, calls, resumed } = exec;
  const name = turn ? `turn ${turn.number}` : `${number} ${kind}`;
  const facts = [
    ...(!turn && calls.length > 0 ? [amount(calls.length, "call")] : []),
    ...spent(tokens, cost_usd),
    ...(time_ms === null ? [] : [duration(time_ms)]),
    ...(resumed > 0 ? [`resumed ${resumed}x`] : []),
  ].join(" · ");
  return item(depth, STYLES[status], [name, error_code ?? status, facts, turn ? turn.text : input], () =>
    wholeExec(exec),
  );
}

function callItems(call: CallDescription, depth: number): readonly Item[] {
  const { number, name, status, error_code, model, time_ms, tokens, cost_usd, prompt, child, usage } = call;
  const state = call.refused ? "refused" : (takenFrom(call) ?? error_code ?? status);
  const facts = [
    ...(model === "" ? [] : [model]),
    ...spent(tokens, cost_usd, usage.estimated),
    ...(time_ms === null ? [] : [duration(time_ms)]),
    ...(call.mended.length > 0 ? ["mended"] : []),
  ].join(" · ");
  const own = item(depth, STYLES[status], [`${number} ${name}`, state, facts, prompt], () => wholeCall(call));
  if (!child) return [own];
  const counts = [
    ...(child.turns === null ? [] : [amount(child.turns, "turn")]),
    ...(child.sub_calls === null ? [] : [amount(child.sub_calls, "sub-call")]),
  ].join(" · ");
  return [own, item(depth + 1, "quiet", [`child ${idEnd(child.session)}`, counts])];
}

const STYLES = { ok: "good", failed: "bad", unfinished: "plain", pending: "plain" } as const;

/** @param estimated tokens among them that nobody told */
function spent(tokens: number, cost_usd: number, estimated = 0): string[] {
  return tokens > 0 ? [`${estimated > 0 ? "~" : ""}${compact(tokens)} tokens`, ...priced(cost_usd)] : [];
}

/** The source of an answer that was not asked for; null: it was. */
function takenFrom({ by_hand, cached, reused }: CallDescription): string | null {
  if (by_hand) return "by hand";
  return reused ? `reused from ${reused.from}` : cached ? "cached" : null;
}

function wholeExec({ source, turn, stdout, stderr, warnings, result_json, error, ask }: ExecDescription): string {
  return parts([
    ["asked", turn ? turn.messages.join("\n") : valueText(source)],
    ["said", turn?.text ?? ""],
    ["output", stdout],
    ["errors", stderr],
    ["result", valueText(result_json)],
    ["answer", ask ? valueText(ask.answer) : ""],
    ["warnings", [...warnings, ...(ask?.warnings ?? [])].join("\n")],
    ["error", error ?? ""],
  ]);
}

function wholeCall({ prompt, args, answer, status, mended, ignored }: CallDescription): string {
  return parts([
    ["asked", prompt ?? valueText(args)],
    ["options", valueText(args[1] ?? null)],
    [status === "failed" ? "error" : "answered", valueText(answer)],
    ["mended", mended.join(", ")],
    ["not taken by the model", ignored.join(", ")],
  ]);
}

/** A value of a store, as text. */
function valueText(value: unknown): string {
  return value === null ? "" : typeof value === "string" ? value : jsonText(value);
}

function parts(all: readonly (readonly [string, string])[]): string {
  return all
    .filter(([, text]) => text !== "")
    .map(([title, text]) => `${title}\n${text}`)
    .join("\n\n");
}
