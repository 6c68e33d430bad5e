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
