import { LIMITS } from "../../../runtime/index.ts";
import { loadSubCallLayer } from "../../models/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { ExecRecords } from "./exec-records.ts";
import type { ToolResult } from "./records.ts";

/** Warnings about the replies to calls. */
export function repliesTold(results: readonly Told[]): readonly string[] {
  const mended = results.flatMap((result) => (result.mended ? [result.mended] : []));
  const kinds = new Set(mended.flat());
  const ignored = results.flatMap(({ ignored: names = [], model }) => names.map((name) => `${name} by ${model}`));
  return [
    ...(mended.length === 0 ? [] : [`replies_mended: ${mended.length} (${[...kinds].join(", ")})`]),
    ...(ignored.length === 0 ? [] : [`parameters_ignored: ${[...new Set(ignored)].join(", ")}`]),
  ];
}

type Told = Partial<Pick<ToolResult, "mended" | "ignored" | "model">>;

/** The kinds of mending that these warnings name; undefined: they name none. */
export function mendedBy(warnings: readonly string[]): readonly string[] | undefined {
  for (const warning of warnings) {
    const [, kinds] = /^replies_mended: \d{1,9} \(([^)]*)/.exec(warning) ?? [];
    if (kinds !== undefined) return kinds.split(", ");
  }
  return undefined;
}

/** Fewer calls that need no tools cost little. */
const LEAST_CALLS = 10;
const TOOLS_UNUSED = "tools_unused";

/**
 * The warning for an exec whose calls named no tools, so that they had those that read files, and used none. Tools are a part of every
 * request. null: it had fewer such calls, or one has used a tool.
 */
export async function toolsUnused({ calls, results }: Pick<ExecRecords, "calls" | "results">): Promise<string | null> {
  const named = new Set(calls.filter(({ args: [, options] }) => namesTools(options)).map(({ call_id }) => call_id));
  // Only a call with tools has turns and named none.
  const turns = results.flatMap(({ call_id, turns: taken }) => (taken && !named.has(call_id) ? [taken] : []));
  if (turns.length < LEAST_CALLS || turns.flat().some(({ tools }) => tools.length > 0)) return null;
  const { tokensOfTools } = await loadSubCallLayer();
  const tokens = tokensOfTools(LIMITS.subAgentTurns) * turns.flat().length;
  const saved = `with tools: [] they take about ${tokens.toLocaleString("en")} tokens less`;
  return `${TOOLS_UNUSED}: ${turns.length} sub-calls had tools that read files, and used none; ${saved}`;
}

const namesTools = (options: unknown) => isRecord(options) && options.tools !== undefined;

/** The warnings of this kind that execs have recorded. */
export const toolsUnusedIn = (execs: readonly Pick<ExecRecords, "complete">[]): readonly string[] =>
  execs.flatMap(({ complete }) =>
    (complete?.state?.warnings ?? []).filter((warning) => warning.startsWith(TOOLS_UNUSED)),
  );
