import { amount, compact, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import type { TracedExec } from "../format.ts";
import { button, fill, h } from "./dom.ts";
import type { Actions, View } from "./view.ts";

/** More execs than these are not listed, the oldest first. */
const LISTED = 2000;
const GLYPHS = { ok: "✓", failed: "✗", unfinished: "…" } as const;

/** The list of execs. One that is chosen lists its calls alone, an ask those of its turns and cells too. */
export function openExecs(view: View, actions: Actions) {
  const nav = h("nav", { "aria-label": "Execs" });
  let all: HTMLElement = h("span", {});
  let rows: readonly HTMLElement[] = [];

  function choose(index: number): void {
    view.execs = [index, lastOf(view.model.head.execs, index)];
    actions.choose({ kind: "exec", index });
    actions.list();
  }

  function listAll(): void {
    view.execs = null;
    actions.list();
  }

  function refresh(): void {
    const { execs, session } = view.model.head;
    const first = Math.max(0, execs.length - LISTED);
    all = button(h("span", { class: "text" }, "all"), null, listAll, { class: "row" });
    rows = execs.slice(first).map((exec, at) => {
      const title = inLine(exec.label);
      return button(h("span", { class: "cells" }, ...cells(exec)), null, () => choose(first + at), {
        class: "row",
        title,
      });
    });
    const left = `${amount(session.left_out.length, "child is", "children are")} not in this trace: ${session.left_out.slice(0, 20).join(", ")}`;
    fill(
      nav,
      h("h2", {}, first > 0 ? `execs, without the first ${thousands(first)}` : "execs"),
      ...[all, ...rows],
      session.left_out.length > 0 ? h("p", { class: "note" }, left) : null,
    );
    mark();
  }

  /** Marks what is chosen. */
  function mark(): void {
    const { chosen, model } = view;
    const index = chosen.kind === "exec" ? chosen.index - (model.head.execs.length - rows.length) : -1;
    all.setAttribute("aria-pressed", String(view.execs === null));
    for (const [at, row] of rows.entries()) row.setAttribute("aria-pressed", String(at === index));
  }

  return { element: nav, refresh, mark, choose };
}

function cells(exec: TracedExec): HTMLElement[] {
  const { status, kind, turn, label, resumes, from, to } = exec;
  const named = kind === "cell" ? label || "cell" : `${kind}${turn ? ` ${turn}` : ""} ${label}`;
  return [
    h("span", { class: status, css: { "padding-left": `${indentOf(exec) * 12}px` } }, GLYPHS[status]),
    h("span", { class: "text" }, named),
    ...(resumes.length > 0
      ? [h("span", { class: "word kept", title: `resumed ${amount(resumes.length, "time")}` }, "⟲")]
      : []),
    h("span", { class: "n" }, to > from ? compact(to - from) : ""),
  ];
}

/** A turn is below its ask, and a cell below its turn; a child is below the call that it answers. */
function indentOf({ parent, turn, depth }: TracedExec): number {
  if (parent === null) return depth * 2;
  return depth * 2 + (turn === null ? 2 : 1);
}

/** The last of the turns and cells of an ask, and of the children below; the exec itself for another one. */
function lastOf(execs: readonly TracedExec[], index: number): number {
  const exec = execs[index];
  let last = index;
  for (let at = index + 1; at < execs.length; at++) {
    const other = execs[at];
    const isPart = exec?.kind === "ask" && other?.depth === exec.depth && other.parent !== null;
    if (!isPart && (other?.depth ?? 0) <= (exec?.depth ?? 0)) break;
    if (isPart) last = at;
  }
  return last;
}
