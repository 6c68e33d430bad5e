import { type Complete, type ExecKind, readRecord, type ToolResult } from "../../src/session/journal/records.ts";
import type { JournalRow } from "../../src/store/port.ts";

/** What a session's journal says at one moment; sub-calls go by their prompts, of which a program uses each once. */
export interface Journaled {
  /** Prompts of all calls that were recorded. */
  readonly called: ReadonlySet<string>;
  readonly results: ReadonlyMap<string, ToolResult>;
  /** Prompts of calls without a result. */
  readonly inFlight: readonly string[];
  /** Calls or results that have more than one record. */
  readonly repeated: readonly string[];
  /** How often an exec was taken over. */
  readonly restores: number;
  /** Ends of cells and queries. */
  readonly ends: readonly Complete[];
  /** Whether a cell or query has begun, and which kind of exec has not ended. */
  readonly begun: boolean;
  readonly open: ExecKind | null;
}

export function journaled(rows: readonly JournalRow[]): Journaled {
  const prompts = new Map<string, string>();
  const results = new Map<string, ToolResult>();
  const repeated: string[] = [];
  const ends: Complete[] = [];
  let restores = 0;
  let begun = false;
  let open: ExecKind | null = null;
  for (const row of rows) {
    const record = readRecord(row.record);
    switch (record.record) {
      case "rlm_start":
        open = record.kind;
        begun ||= isCell(record.kind);
        break;
      case "rlm_resume":
        restores++;
        break;
      case "rlm_tool_call": {
        const prompt = String(record.args[0]);
        if (prompts.has(record.call_id) || [...prompts.values()].includes(prompt)) repeated.push(`call: ${prompt}`);
        prompts.set(record.call_id, prompt);
        break;
      }
      case "rlm_tool_result": {
        const prompt = prompts.get(record.call_id) ?? `no call ${record.call_id}`;
        if (results.has(prompt)) repeated.push(`result: ${prompt}`);
        results.set(prompt, record);
        break;
      }
      case "rlm_complete":
        open = null;
        if (isCell(record.kind)) ends.push(record);
    }
  }
  const called = new Set(prompts.values());
  return {
    called,
    results,
    inFlight: [...called].filter((prompt) => !results.has(prompt)),
    repeated,
    restores,
    ends,
    begun,
    open,
  };
}

const isCell = (kind: ExecKind) => kind === "cell" || kind === "query";
