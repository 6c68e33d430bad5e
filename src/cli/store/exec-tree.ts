import type { CallDescription, ExecDescription, SessionDescription } from "../../history/index.ts";
import { ago, amount, compact, duration, priced } from "../../platform/figures.ts";
import { idEnd } from "../../platform/ids.ts";
import { typedName } from "../../platform/shell-word.ts";
import { inLine } from "../../platform/visible.ts";
import { commandLine } from "../flags/usage.ts";
import { callLines, firstWords } from "../render/calls.ts";
import { type Column, cut, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";

/** Options of a page. `now`: ms since the epoch. `all`: nothing is left out. `flags` name the store in lines to type. */
export interface Page {
  readonly now: number;
  readonly all: boolean;
  readonly flags: readonly string[];
}

/** A session as lines to type call it. */
export type Named = Pick<SessionDescription, "id" | "name">;

/** A line that shows more of a session. */
export function showLine(session: Named, { flags }: Page, ...how: readonly string[]): string {
  return commandLine(["show", typedName(session), ...how, ...flags]);
}

/** The line that finishes what is open in a session. */
export const resumeLine = (session: Named, { flags }: Pick<Page, "flags">) =>
  commandLine(["resume", typedName(session), ...flags]);

const EXECS_SHOWN = 100;
const CALLS_SHOWN = 20;
const EXECS_OF_CHILD_SHOWN = 20;
const MARGIN = "      ";

/** Execs under the ask or turn that made them, each with its calls, each call with the child that answers it. */
export function showExecs(session: SessionDescription, page: Page, output: Output): void {
  const { shown, left } = newest(session.execs, page.all ? Number.POSITIVE_INFINITY : EXECS_SHOWN);
  if (left > 0) output.write(`… ${amount(left, "earlier exec")}: ${showLine(session, page, "--all")}\n`, "dim");
  showTree(session, shown, { margin: "", page }, output);
}

/** The page on which something is shown, and what stands before each of its lines. */
interface Place {
  readonly margin: string;
  readonly page: Page;
}

/** @param execs those that are shown, in their order */
function showTree(session: SessionDescription, execs: readonly ExecDescription[], place: Place, output: Output): void {
  const { margin, page } = place;
  const depths = depthsOf(session.execs);
  const least = execs.reduce((least, { number }) => Math.min(least, depths.get(number) ?? 0), Number.POSITIVE_INFINITY);
  const indentOf = ({ number }: ExecDescription) => "  ".repeat((depths.get(number) ?? 0) - least);
  const rows = execs.map((exec) => rowOf(exec, session, indentOf(exec), place));
  for (const [at, line] of table(rows, EXEC_COLUMNS, output).entries()) {
    const exec = execs[at];
    const style = exec?.status === "failed" ? "red" : exec?.status === "unfinished" ? "yellow" : undefined;
    output.write(`${line}\n`, style);
    // The request of a turn is the turn itself.
    if (exec && !exec.turn) showCallsOf(exec, session, { margin: margin + MARGIN + indentOf(exec), page }, output);
  }
}

const EXEC_COLUMNS: readonly Column[] = ["right", "left", "left", "right 2", "right 1", "right 4", "right 3", "left"];

function rowOf(exec: ExecDescription, session: SessionDescription, indent: string, { margin, page }: Place): string[] {
  const { number, kind, status, error_code, began_at, time_ms, resumed, tokens, cost_usd, input, turn } = exec;
  const calls = turn ? 0 : exec.ask ? callsBelow(exec, session.execs) : exec.calls.length;
  const words = turn ? `${turn.closing ? "(closing) " : ""}${firstWords(turn.text)}` : input;
  return [
    `${margin}  ${number}`,
    `${indent}${turn ? `turn ${turn.number}` : kind}`,
    error_code ?? status,
    ago(page.now - began_at),
    time_ms === null ? "-" : duration(time_ms),
    calls > 0 ? amount(calls, "call") : "",
    tokens > 0 || calls > 0 ? [`${compact(tokens)} tokens`, ...priced(cost_usd)].join(" ") : "",
    `${resumed > 0 ? `(resumed ${resumed}x) ` : ""}${words}`,
  ];
}

function showCallsOf(exec: ExecDescription, session: SessionDescription, place: Place, output: Output): void {
  const calls = place.page.all ? exec.calls : exec.calls.slice(0, CALLS_SHOWN);
  showCalls(calls, place, output);
  const line = showLine(session, place.page, "--exec", String(exec.number));
  const more = `${exec.calls.length - calls.length} more: ${line}`;
  if (calls.length < exec.calls.length) output.write(`${place.margin}… ${more}\n`, "dim");
}

/** Calls in a line each, and under each the child that answers it. */
export function showCalls(calls: readonly CallDescription[], { margin, page }: Place, output: Output): void {
  for (const [at, line] of callLines(calls, margin, output).entries()) {
    output.write(`${line}\n`, "dim");
    const call = calls[at];
    if (call) showChild(call, { margin: `${margin}   `, page }, output);
  }
}

/** The child that answers a call: a line of what it came to, then its turns and cells. */
export function showChild({ child }: CallDescription, { margin, page }: Place, output: Output): void {
  if (!child) return;
  const { session: id, sub_calls, turns, description } = child;
  const ask = description?.execs.findLast((exec) => exec.ask);
  const counts = [
    ...(turns === null ? [] : [amount(turns, "turn")]),
    ...(sub_calls === null ? [] : [amount(sub_calls, "sub-call")]),
    ...(ask ? [`${compact(ask.tokens)} tokens`, ...priced(ask.cost_usd)] : []),
    ...(ask?.time_ms != null ? [duration(ask.time_ms)] : []),
  ];
  const status = ask ? (ask.error_code ?? ask.status) : "";
  const line = [`${margin}child ${idEnd(id)}`, status, counts.join(" · ")].filter((part) => part !== "").join("  ");
  output.write(`${cut(inLine(line), output)}\n`, "dim");
  if (!description) return;
  const own = description.execs.filter(({ parent }) => parent !== null);
  const { shown, left } = newest(own, page.all ? Number.POSITIVE_INFINITY : EXECS_OF_CHILD_SHOWN);
  if (left > 0)
    output.write(
      `${margin}  … ${amount(left, "earlier exec")}: ${showLine({ id, name: null }, page, "--all")}\n`,
      "dim",
    );
  showTree(description, shown, { margin, page }, output);
}

/** The newest execs, with those above them in the tree. */
function newest(execs: readonly ExecDescription[], most: number) {
  const from = Math.max(0, execs.length - most);
  const above = new Set<number>();
  const byNumber = new Map(execs.map((exec) => [exec.number, exec]));
  for (const exec of execs.slice(from)) {
    for (let up = exec.parent; up !== null && !above.has(up); up = byNumber.get(up)?.parent ?? null) above.add(up);
  }
  const shown = execs.filter((exec, at) => at >= from || above.has(exec.number));
  return { shown, left: execs.length - shown.length };
}

/** The depth of each exec in the tree, by its number: those above come first. */
function depthsOf(execs: readonly ExecDescription[]): ReadonlyMap<number, number> {
  const depths = new Map<number, number>();
  for (const { number, parent } of execs) depths.set(number, parent === null ? 0 : (depths.get(parent) ?? 0) + 1);
  return depths;
}

/** The calls of an ask's cells. */
function callsBelow(ask: ExecDescription, execs: readonly ExecDescription[]): number {
  const turns = execs.filter(({ parent, turn }) => turn && parent === ask.number);
  const above = new Set<number | null>([ask, ...turns].map(({ number }) => number));
  const cells = execs.filter(({ parent, turn }) => !turn && above.has(parent));
  return cells.reduce((calls, cell) => calls + cell.calls.length, 0);
}
