import { amount, thousands } from "../../platform/figures.ts";
import { MARKS, type TracedExec, type TracedWorkflow } from "../format.ts";
import { isOver, kindOf, type Model } from "./model.ts";

/** A run of a workflow in the trace. */
export type WorkflowExec = TracedExec & { readonly workflow: TracedWorkflow };

/** The calls of each phase: those that the script names first, then others as they came. */
export function phasesOf(model: Model, { workflow, from, to }: WorkflowExec): Map<number, number[]> {
  const phases = new Map<number, number[]>(workflow.phases.map((phase) => [phase, []]));
  for (let call = from; call < to; call++) {
    const phase = model.columns.of("phase", call);
    const calls = phases.get(phase) ?? [];
    calls.push(call);
    phases.set(phase, calls);
  }
  return phases;
}

/** The state of an agent, in words. */
export function stateOf(model: Model, call: number): string {
  const { columns, head } = model;
  const code = head.errors[columns.of("error", call)] ?? "";
  switch (kindOf(model, call)) {
    case "cached":
      return (columns.of("marks", call) & TAKEN) === 0 ? "done, from the cache" : "done";
    case "lost":
      return `✗ failed${code === "" ? "" : `: ${code}`}`;
    case "refused":
      return `✗ not made${code === "" ? "" : `: ${code}`}`;
    case "pending":
      return openState(model, call);
    default:
      return "done";
  }
}

const STARTED = 1 << MARKS.indexOf("started");
/** Marks that say where an answer is from. */
const TAKEN = (1 << MARKS.indexOf("taken over")) | (1 << MARKS.indexOf("by hand"));

/** Nothing tells whether a model has been asked. An agent works on while no process runs its call. */
function openState({ columns, head }: Model, call: number): string {
  const isRunning = head.session.status === "running";
  if ((columns.of("marks", call) & STARTED) !== 0) return isRunning ? "… running" : "… was started";
  const isOfAgent = head.models[columns.of("model", call)]?.startsWith("agent:");
  return isRunning && !isOfAgent ? "… works or waits for its turn" : "… waits";
}

/** `12 agents: 10 done, 1 failed, 1 not over` */
export function countsLine(model: Model, calls: readonly number[]): string {
  if (calls.length === 0) return "no agents";
  const failed = calls.filter((call) => model.columns.of("error", call) > 0).length;
  const open = calls.filter((call) => !isOver(model, call)).length;
  const counts = [
    [calls.length - failed - open, "done"],
    [failed, "failed"],
    [open, "not over"],
  ] as const;
  const parts = counts.flatMap(([count, word]) => (count > 0 ? [`${thousands(count)} ${word}`] : []));
  return `${amount(calls.length, "agent")}: ${parts.join(", ")}`;
}
