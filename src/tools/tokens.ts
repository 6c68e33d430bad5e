import type { Tool } from "./define.ts";

/** The most that the texts of all tools may add to every request, tokens. */
export const TOOLS_BUDGET = 2_650;

/** The size that a tool adds to every request, tokens at four characters each: schema and description, snippet and guidelines. */
export function toolTokens({ name, description, parameters, promptSnippet, guidelines }: Tool): number {
  const schema = JSON.stringify({ name, description, parameters });
  const prompt = [`- ${name}: ${promptSnippet}`, ...guidelines.map((line) => `- ${line}`)].join("\n");
  return Math.ceil((schema.length + prompt.length) / 4);
}
