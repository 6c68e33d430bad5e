import { compact, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import type { TracedExec } from "../format.ts";
import { button, fill, h, tint } from "./dom.ts";
import { lastOf } from "./list.ts";
import type { View } from "./view.ts";

/** More execs than these are not listed, the oldest first. */
const LISTED = 2000;
const LOOKS = { ok: ["✓", "cached"], failed: ["✗", "lost"], unfinished: ["…", "pending"] } as const;

/**
 * The list of execs. One that is chosen lists its calls alone, an ask
 * those of its turns and cells too.
 */
export interface OpenedExecs {
  readonly element: HTMLElement;
  refresh(): void;
  /** Marks the exec that is chosen. */
  mark(): void;
  choose(index: number): void;
}

export function openExecs(view: View): OpenedExecs {
  const nav = h("nav", { "aria-label": "Execs" });
  let all: HTMLElement = h("span");
  let rows: readonly HTMLElement[] = [];

  function choose(index: number): void {
    view.execs = [index, lastOf(view.model.head.execs, index)];
    view.choose({ kind: "exec", index });
    view.list();
  }

  function refresh(): void {
    const { execs, session, subject } = view.model.head;
    const first = Math.max(0, execs.length - LISTED);
    all = button("all", () => {
      view.execs = null;
      view.list();
    });
    rows = execs.slice(first).map((exec, at) => {
      const title = inLine(exec.label);
      return button(h("span", { class: "cells" }, ...cells(exec)), () => choose(first + at), { title });
    });
    const { left_out } = session;
    const left = `${thousands(left_out.length)} not in this trace: ${left_out.slice(0, 20).join(", ")}`;
    const heading = first > 0 ? `execs, without the first ${thousands(first)}` : subject === "run" ? "run" : "execs";
    fill(nav, h("h2", {}, heading), ...[all, ...rows], left_out.length > 0 ? h("p", { class: "note" }, left) : null);
    mark();
  }

  function mark(): void {
    const { chosen, model } = view;
    const index = chosen.kind === "exec" ? chosen.index - (model.head.execs.length - rows.length) : -1;
    all.setAttribute("aria-pressed", String(view.execs === null));
    for (const [at, row] of rows.entries()) row.setAttribute("aria-pressed", String(at === index));
  }

  return { element: nav, refresh, mark, choose };
}

/**
 * A turn is below its ask, and a cell below its turn; a child is below the call that it answers.
 */
function cells({ status, kind, turn, label, resumes, from, to, parent, depth }: TracedExec) {
  const named = kind === "cell" ? label || "cell" : `${kind}${turn ? ` ${turn}` : ""} ${label}`;
  const below = depth * 2 + (parent === null ? 0 : turn === null ? 2 : 1);
  const [glyph, style] = LOOKS[status];
  return [
    h("span", { class: "word", css: { "padding-left": `${below * 12}px`, ...tint(style) } }, glyph),
    h("span", { class: "text" }, named),
    resumes.length > 0
      ? h("span", { class: "word", css: tint("kept"), title: `resumed: ${resumes.length}` }, "⟲")
      : null,
    h("span", { class: "n" }, to > from ? compact(to - from) : ""),
  ];
}
