import { ago, amount, compact, duration, priced, size } from "../../figures.ts";
import { displayName, idEnd } from "../../ids.ts";
import {
  type CheckpointDescription,
  type ExecDescription,
  REMARK_NAMES,
  type SessionDescription,
} from "../../session/index.ts";
import { showCalls } from "../render/calls.ts";
import { type Column, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";
import { paragraph } from "../render/wrap.ts";

/** A page for people. @param now ms since the epoch */
export function showSession(found: SessionDescription, now: number, output: Output): void {
  const { id, status, created_at, changed_at, context, sub_calls, tokens, cost_usd, bytes, holder } = found;
  const since = (at: number) => ago(now - at);
  output.write(displayName(found), "bold");
  output.write(`  ${status}${holder ? ` in process ${holder.pid}` : ""}\n`);
  output.write(`id        ${id}\n`);
  for (const name of REMARK_NAMES) if (found[name] !== null) output.write(`${name.padEnd(10)}${found[name]}\n`);
  if (found.forked_from !== null) output.write(`forked    from ${idEnd(found.forked_from)}\n`);
  output.write(`begun     ${since(created_at)}, changed ${since(changed_at)}\n`);
  output.write(
    context
      ? `context   ${context.sources.join(", ")} (${amount(context.chars, "character")}, ${context.hash.slice(0, 12)})\n`
      : "context   none\n",
  );
  output.write(
    `took      ${[amount(sub_calls, "sub-call"), `${compact(tokens)} tokens`, ...priced(cost_usd), `${size(bytes)} on disk`].join(" · ")}\n`,
  );
  showExecs(found, since, output);
  showCheckpoints(found.checkpoints, since, output);
  if (status === "unfinished") output.write(`\nunfinished: belay resume ${displayName(found)}\n`, "yellow");
}

function showExecs(session: SessionDescription, since: (at: number) => string, output: Output): void {
  const { execs } = session;
  output.write(`\n${execs.length === 0 ? "no execs yet" : "execs"}\n`, "dim");
  const rows = execs.map(
    ({ number, kind, status, error_code, began_at, time_ms, resumed, calls, tokens, cost_usd, input }) => [
      `  ${number}`,
      kind,
      error_code ?? status,
      since(began_at),
      time_ms === null ? "-" : duration(time_ms),
      calls.length > 0 ? amount(calls.length, "call") : "",
      calls.length > 0 ? [`${compact(tokens)} tokens`, ...priced(cost_usd)].join(" ") : "",
      `${resumed > 0 ? `(resumed ${resumed}x) ` : ""}${input}`,
    ],
  );
  const lines = table(rows, EXEC_COLUMNS, output);
  for (const [index, line] of lines.entries()) {
    const exec = execs[index];
    const style = exec?.status === "failed" ? "red" : exec?.status === "unfinished" ? "yellow" : undefined;
    output.write(`${line}\n`, style);
    if (exec) showCallsOf(exec, session, output);
  }
}

const EXEC_COLUMNS: readonly Column[] = [
  "right",
  "left",
  "left",
  { align: "right", drop: 2 },
  { align: "right", drop: 1 },
  { align: "right", drop: 4 },
  { align: "right", drop: 3 },
  "left",
];

const CALLS_SHOWN = 20;

function showCallsOf({ calls, number }: ExecDescription, session: SessionDescription, output: Output): void {
  showCalls(calls, CALLS_SHOWN, "      ", output);
  const more = calls.length - CALLS_SHOWN;
  if (more > 0) output.write(`      … ${more} more: belay show ${displayName(session)} --exec ${number}\n`, "dim");
}

function showCheckpoints(
  checkpoints: readonly CheckpointDescription[],
  since: (at: number) => string,
  output: Output,
): void {
  if (checkpoints.length === 0) return;
  output.write(`\n${output.isTerminal ? paragraph(CHECKPOINTS_HEAD, output.columns) : CHECKPOINTS_HEAD}\n`, "dim");
  const rows = treeOf(checkpoints).map(({ checkpoint: { id, kind, at, pages, bytes, head }, depth }) => [
    `${head ? "*" : " "} ${"  ".repeat(depth)}${idEnd(id)}`,
    kind,
    since(at),
    amount(pages, "page"),
    size(bytes),
  ]);
  for (const line of table(rows, CHECKPOINT_COLUMNS, output)) output.write(`${line}\n`);
}

const CHECKPOINTS_HEAD = "checkpoints (* here it stands; `belay fork SESSION@CHECKPOINT` goes on from another)";

const CHECKPOINT_COLUMNS: readonly Column[] = [
  "left",
  "left",
  { align: "right", drop: 3 },
  { align: "right", drop: 1 },
  { align: "right", drop: 2 },
];

/** Checkpoints under their parents. The newest line of them keeps its column, so that a session without branches is a list. */
export function treeOf(
  checkpoints: readonly CheckpointDescription[],
): { readonly checkpoint: CheckpointDescription; readonly depth: number }[] {
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
