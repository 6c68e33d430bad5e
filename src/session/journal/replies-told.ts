import type { ToolResult } from "./records.ts";

/** Warnings about the replies to calls. */
export function repliesTold(results: readonly Pick<ToolResult, "ignored" | "model">[]): readonly string[] {
  const ignored = results.flatMap(({ ignored = [], model }) => ignored.map((name) => `${name} by ${model}`));
  return ignored.length === 0 ? [] : [`parameters_ignored: ${[...new Set(ignored)].join(", ")}`];
}
