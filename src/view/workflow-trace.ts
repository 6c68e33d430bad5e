import type { CallDescription, ExecDescription } from "../history/index.ts";
import { isRecord } from "../platform/json.ts";
import { inLine } from "../platform/visible.ts";
import { workflowInCell } from "../workflow/index.ts";
import { MARKS, type TracedWorkflow } from "./format.ts";
import type { Names, Words } from "./trace-file.ts";

/** Labels of a trace: those of further calls are left out. */
const MOST_LABELS = 20_000;
const LEFT_OUT = "(its label is left out)";
/** UTF-16 units of a prompt that replace a label, and of args. */
const BEGINNING = 80;
const ARGS = 8_000;
const NAME_UNITS = 200;

/** The workflow of an exec, as its cell tells it; null: it is none. */
export function tracedWorkflow({ kind, source }: ExecDescription, words: Words, phases: Names): TracedWorkflow | null {
  const workflow = kind === "cell" && typeof source === "string" ? workflowInCell(source) : null;
  if (!workflow) return null;
  const { meta, args, usual } = workflow;
  const { texts } = words.tracing;
  const given = args === undefined || !texts ? "" : words.whole(JSON.stringify(args, null, 1));
  return {
    name: words.line(meta.name),
    description: texts ? words.whole(meta.description) : "",
    args: given.length > ARGS ? `${given.slice(0, ARGS)}\n[… ${given.length - ARGS} characters are left out …]` : given,
    agent: usual,
    // As the script's own functions write them into calls.
    phases: meta.phases.map(({ title }) => phases.numberOf(title.replaceAll(/\s+/g, " ").trim().slice(0, NAME_UNITS))),
  };
}

/** Names the calls of a trace. An agent of a workflow without a label is named by the beginning of its prompt. */
export function openLabels(labels: Names) {
  const known = new Set<string>();
  /** @param isAgent it is a call of a workflow */
  return function numberOf({ label, prompt }: CallDescription, isAgent: boolean): number {
    const named = label ?? (isAgent ? firstLine(prompt ?? "") : "");
    if (known.size >= MOST_LABELS && !known.has(named)) return labels.numberOf(LEFT_OUT);
    known.add(named);
    return labels.numberOf(named);
  };
}

const firstLine = (prompt: string) => inLine(prompt.trim().split("\n", 1)[0] ?? "").slice(0, BEGINNING);

/** The marks of a call as bits, by the places of `MARKS`. @param isAgent it is a call of a workflow */
export function marksOf(call: CallDescription, isAgent: boolean): number {
  const { reused, cached, by_hand, started, mended, ignored } = call;
  const [, options] = call.args;
  const marks: Readonly<Record<(typeof MARKS)[number], boolean>> = {
    "taken over": !by_hand && (reused !== undefined || (isAgent && cached)),
    "by hand": by_hand,
    worktree: isRecord(options) && options.isolation === "worktree",
    started,
    mended: mended.length > 0,
    "without a parameter": ignored.length > 0,
  };
  return MARKS.reduce((bits, name, at) => (marks[name] ? bits | (1 << at) : bits), 0);
}
