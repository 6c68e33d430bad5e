import { ago, amount, compact, priced, size } from "../../platform/figures.ts";
import { displayName, idEnd } from "../../platform/ids.ts";
import { inLine } from "../../platform/visible.ts";
import { type CheckpointDescription, REMARK_NAMES, type SessionDescription } from "../../session/index.ts";
import { type Column, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";
import { paragraph } from "../render/wrap.ts";
import { allOf, type Page, showExecs } from "./exec-tree.ts";

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
  output.write(
    context
      ? `context   ${inLine(context.sources.join(", "))} (${amount(context.chars, "character")}, ${context.hash.slice(0, 12)})\n`
      : "context   none\n",
  );
  output.write(
    `took      ${[amount(sub_calls, "sub-call"), `${compact(tokens)} tokens`, ...priced(cost_usd), `${size(bytes)} on disk`].join(" · ")}\n`,
  );
  output.write(`\n${found.execs.length === 0 ? "no execs yet" : "execs"}\n`, "dim");
  showExecs(found, page, output);
  showCheckpoints(found, page, output);
  if (status === "unfinished") output.write(`\nunfinished: belay resume ${displayName(found)}\n`, "yellow");
}

const CHECKPOINTS_SHOWN = 40;

function showCheckpoints(session: SessionDescription, { now, all }: Page, output: Output): void {
  const { checkpoints, execs } = session;
  if (checkpoints.length === 0) return;
  output.write(`\n${output.isTerminal ? paragraph(CHECKPOINTS_HEAD, output.columns) : CHECKPOINTS_HEAD}\n`, "dim");
  const tree = treeOf(checkpoints);
  const left = all ? 0 : Math.max(0, tree.length - CHECKPOINTS_SHOWN);
  if (left > 0) output.write(`… ${amount(left, "earlier checkpoint")}: ${allOf(session)}\n`, "dim");
  const numbers = new Map(execs.map(({ exec_id, number }) => [exec_id, number]));
  const rows = tree
    .slice(left)
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

const CHECKPOINTS_HEAD = "checkpoints (* here it stands; `belay fork SESSION@CHECKPOINT` goes on from another)";

const CHECKPOINT_COLUMNS: readonly Column[] = [
  "left",
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
