import {
  type CallDescription,
  type ChildDescription,
  callsSeen,
  type ExecDescription,
  type SessionDescription,
  type Step,
  type WalkedCall,
  type WalkedExec,
  type WalkedSession,
  walk,
} from "../../history/index.ts";
import { ago, amount, compact, duration, priced } from "../../platform/figures.ts";
import { idEnd } from "../../platform/ids.ts";
import { typedName } from "../../platform/shell-word.ts";
import { inLine } from "../../platform/visible.ts";
import { commandLine } from "../flags/usage.ts";
import { byPhase, callLines, firstWords } from "../render/calls.ts";
import { type Column, cut, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";

/**
 * Options of a page. `now`: ms since the epoch. `all`: nothing is left out. `flags`
 * name the store in lines to type.
 */
export interface Page {
  readonly now: number;
  readonly all: boolean;
  readonly flags: readonly string[];
}

/** A session as lines to type call it. */
type Named = Pick<SessionDescription, "id" | "name">;

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

/**
 * Execs under the ask or turn that made them, each with its calls, each call
 * with the child that answers it.
 */
export function showExecs(session: SessionDescription, page: Page, output: Output): void {
  const { shown, left } = newest(session.execs, page.all ? Number.POSITIVE_INFINITY : EXECS_SHOWN);
  if (left > 0) output.write(`… ${amount(left, "earlier exec")}: ${showLine(session, page, "--all")}\n`, "dim");
  draw({ ...session, execs: shown }, session.execs, { page, from: "execs" }, output);
}

/** The calls of an exec, each with the child that answers it. */
export function showCalls(exec: ExecDescription, session: SessionDescription, page: Page, output: Output): void {
  draw({ ...session, execs: [exec] }, [exec], { page, from: "calls" }, output);
}

/** The child that answers a call: a line of what it came to, then its turns and cells. */
export function showChild({ exec, call }: Answered, session: SessionDescription, page: Page, output: Output): void {
  const alone = { ...exec, turn: null, calls: [call] };
  draw({ ...session, execs: [alone] }, [alone], { page, from: "child" }, output);
}

interface Answered {
  readonly exec: ExecDescription;
  readonly call: CallDescription;
}

/** The page on which something is drawn, and where that begins: what is above has been written. */
interface Drawing {
  readonly page: Page;
  readonly from: "execs" | "calls" | "child";
}

/** @param all the execs of the session, those that are not drawn too */
function draw(session: SessionDescription, all: readonly ExecDescription[], drawing: Drawing, output: Output): void {
  const { page, from } = drawing;
  const margins = openMargins(drawing);
  const steps = walk(session, {
    execs: (one) => (one === session ? one.execs : ofChild(one, page).shown),
    calls: (step) => {
      const isWhole = page.all || margins.isAbove(step);
      const calls = byPhase(callsSeen(step.exec));
      return isWhole ? calls : calls.slice(0, CALLS_SHOWN);
    },
  }).toArray();
  const lines = new Map([...execLines(steps, all, drawing, output), ...linesOfCalls(steps, drawing, output)]);
  for (const step of steps) {
    const line = lines.get(step) ?? "";
    switch (step.is) {
      case "session":
        if (step.call) tellLeft(ofChild(step.session, page).left, step, drawing, output);
        break;
      case "exec":
        if (!margins.isAbove(step)) output.write(`${line}\n`, STYLES[step.exec.status]);
        break;
      case "call": {
        const { child } = step.call;
        if (from !== "child" || !margins.isAbove(step.of)) output.write(`${line}\n`, "dim");
        if (child) output.write(`${cut(childLine(child, margins.ofChild(step)), output)}\n`, "dim");
        break;
      }
      case "end":
        if (!margins.isAbove(step.of) && !page.all) tellMoreCalls(step.of, drawing, output);
    }
  }
}

const STYLES = { ok: undefined, failed: "red", unfinished: "yellow" } as const;

/** The text before the lines of what is drawn. */
function openMargins({ from }: Pick<Drawing, "from">) {
  /** True of the exec of which only calls are drawn. */
  const isAbove = (exec: WalkedExec): boolean => from !== "execs" && exec.in.call === null;
  const ofSession = ({ call }: WalkedSession): string => (call ? ofChild(call) : "");
  const ofCalls = (exec: WalkedExec): string =>
    isAbove(exec) ? "  " : ofSession(exec.in) + MARGIN + "  ".repeat(exec.level);
  const ofChild = ({ of }: WalkedCall): string => (from === "child" && isAbove(of) ? "" : `${ofCalls(of)}   `);
  return { isAbove, ofSession, ofCalls, ofChild };
}

/** The lines of execs, in columns of their session. */
function execLines(
  steps: readonly Step[],
  all: readonly ExecDescription[],
  { page, from }: Drawing,
  output: Output,
): (readonly [Step, string])[] {
  const margins = openMargins({ from });
  const execs = steps.filter((step) => step.is === "exec");
  return Array.from(Map.groupBy(execs, (step) => step.in)).flatMap(([walked, own]) => {
    const known = walked.call ? walked.session.execs : all;
    const place = { margin: margins.ofSession(walked), page };
    const rows = own.map(({ exec, level }) => rowOf(exec, known, { ...place, indent: "  ".repeat(level) }));
    return paired(own, table(rows, EXEC_COLUMNS, output));
  });
}

/** The lines of calls, in columns of their exec. */
function linesOfCalls(steps: readonly Step[], { from }: Drawing, output: Output): (readonly [Step, string])[] {
  const margins = openMargins({ from });
  const calls = steps.filter((step) => step.is === "call");
  return Array.from(Map.groupBy(calls, (step) => step.of)).flatMap(([exec, own]) => {
    const shown = own.map(({ call }) => call);
    const isRunning = exec.in.session.status === "running";
    return paired(own, callLines(shown, { margin: margins.ofCalls(exec), isRunning }, output));
  });
}

const paired = (steps: readonly Step[], lines: readonly string[]) =>
  steps.map((step, at) => [step, lines[at] ?? ""] as const);

function tellLeft(left: number, walked: WalkedSession, drawing: Drawing, output: Output): void {
  const line = showLine({ id: walked.session.id, name: null }, drawing.page, "--all");
  const margin = openMargins(drawing).ofSession(walked);
  if (left > 0) output.write(`${margin}  … ${amount(left, "earlier exec")}: ${line}\n`, "dim");
}

function tellMoreCalls(step: WalkedExec, drawing: Drawing, output: Output): void {
  const more = callsSeen(step.exec).length - CALLS_SHOWN;
  const line = showLine(step.in.session, drawing.page, "--exec", String(step.exec.number));
  const margin = openMargins(drawing).ofCalls(step);
  if (more > 0) output.write(`${margin}… ${more} more: ${line}\n`, "dim");
}

/** The turns and cells of a child that are shown. */
function ofChild({ execs }: SessionDescription, { all }: Page): Newest {
  const own = execs.filter(({ parent }) => parent !== null);
  return newest(own, all ? Number.POSITIVE_INFINITY : EXECS_OF_CHILD_SHOWN);
}

const EXEC_COLUMNS: readonly Column[] = ["right", "left", "left", "right 2", "right 1", "right 4", "right 3", "left"];

/** Spaces before the line of an exec, and in it before its kind. */
interface Place {
  readonly margin: string;
  readonly indent: string;
  readonly page: Page;
}

function rowOf(exec: ExecDescription, all: readonly ExecDescription[], { margin, indent, page }: Place): string[] {
  const { number, kind, status, error_code, began_at, time_ms, resumed, tokens, cost_usd, input, turn } = exec;
  const calls = exec.ask ? callsBelow(exec, all) : callsSeen(exec).length;
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

/** `child 3K7Q  ok  2 turns · 4 sub-calls · 12k tokens · $0.01 · 3 s` */
function childLine({ session, sub_calls, turns, description }: ChildDescription, margin: string): string {
  const ask = description?.execs.findLast((exec) => exec.ask);
  const counts = [
    ...(turns === null ? [] : [amount(turns, "turn")]),
    ...(sub_calls === null ? [] : [amount(sub_calls, "sub-call")]),
    ...(ask ? [`${compact(ask.tokens)} tokens`, ...priced(ask.cost_usd)] : []),
    ...(ask?.time_ms != null ? [duration(ask.time_ms)] : []),
  ];
  const status = ask ? (ask.error_code ?? ask.status) : "";
  const parts = [`${margin}child ${idEnd(session)}`, status, counts.join(" · ")];
  return inLine(parts.filter((part) => part !== "").join("  "));
}

/** Execs that are shown, and how many are left out. */
interface Newest {
  readonly shown: readonly ExecDescription[];
  readonly left: number;
}

/** The newest execs, with those above them in the tree. */
function newest(execs: readonly ExecDescription[], most: number): Newest {
  const from = Math.max(0, execs.length - most);
  const above = new Set<number>();
  const byNumber = new Map(execs.map((exec) => [exec.number, exec]));
  for (const exec of execs.slice(from)) {
    for (let up = exec.parent; up !== null && !above.has(up); up = byNumber.get(up)?.parent ?? null) above.add(up);
  }
  const shown = execs.filter((exec, at) => at >= from || above.has(exec.number));
  return { shown, left: execs.length - shown.length };
}

/** The calls of an ask's cells. */
function callsBelow(ask: ExecDescription, execs: readonly ExecDescription[]): number {
  const turns = execs.filter(({ parent, turn }) => turn && parent === ask.number);
  const above = new Set<number | null>([ask, ...turns].map(({ number }) => number));
  const cells = execs.filter(({ parent, turn }) => !turn && above.has(parent));
  return cells.reduce((calls, cell) => calls + cell.calls.length, 0);
}
