import type { SeenRequest } from "../model-server.ts";
import { envelopeOf, type PlannedCall, resultTo, subCallAnswer } from "./model.ts";
import { exec } from "./scene.ts";

/** Files over which the cells run. */
export const CELL_FILES = { "notes.txt": "TODO: the first\nTODO: the second\n" };

/** The prompt that has the model run the n-th cell. */
export function promptOf(n: number): string {
  return `run cell ${n}`;
}

/** Prompts of the cell's two sub-calls. */
export function subCallsOf(n: number): readonly [string, string] {
  return [`first of cell ${n}`, `second of cell ${n}`];
}

/** A cell that counts the cells of its session, looks into the context, and makes two sub-calls at once. */
export function cellOf(n: number): PlannedCall {
  return exec(`globalThis.cells = (globalThis.cells ?? 0) + 1;
    const answers = await Promise.all(${JSON.stringify(subCallsOf(n))}.map((prompt) => llm_query(prompt, { tools: [] })));
    result = { cells, found: find("TODO").matches.length, answers };`);
}

/** The n-th cell as a workflow, whose agents make its sub-calls. It gives the same. */
export function workflowOf(n: number): PlannedCall {
  const script = `export const meta = { name: "cells", description: "runs as a cell does" };
    globalThis.cells = (globalThis.cells ?? 0) + 1;
    const answers = await parallel(args.map((prompt) => () => agent(prompt, { tools: [] })));
    return { cells, found: find("TODO").matches.length, answers };`;
  return { tool: "rlm_workflow", args: { script, args: subCallsOf(n) } };
}

/** What the n-th cell gives where `before` cells have been run. */
export function cellResult(n: number, before: number): object {
  return { cells: before + 1, found: 2, answers: subCallsOf(n).map(subCallAnswer) };
}

/** What a request tells the model of the n-th cell: its result, or the text that stands in its place. */
export function toldOf(request: SeenRequest | undefined, n: number): unknown {
  const text = resultTo(request, promptOf(n));
  const { success, result_json } = envelopeOf(text);
  return success === true ? result_json : text;
}
