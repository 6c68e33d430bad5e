import type { Tool } from "./define.ts";

/** What a tool adds to every request, tokens at four characters each: schema and description, snippet and guidelines. */
export function toolTokens({ name, description, parameters, promptSnippet, guidelines }: Tool): number {
  const schema = JSON.stringify({ name, description, parameters });
  const prompt = [`- ${name}: ${promptSnippet}`, ...guidelines.map((line) => `- ${line}`)].join("\n");
  return Math.ceil((schema.length + prompt.length) / 4);
}
