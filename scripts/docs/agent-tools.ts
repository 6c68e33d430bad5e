import { READ_TOOLS } from "../../src/models/agent-tools/index.ts";
import type { Tool } from "../../src/tools/index.ts";

/** The tools that every sub-agent may have, by their definitions. */
export function agentToolsTable(): string {
  const rows = READ_TOOLS.map(({ name, aliases, description }) => {
    const names = [name, ...aliases].map((each) => `\`${each}\``);
    return `| ${names.join(" or ")} | ${description} |`;
  });
  return ["| tool | what it does |", "|---|---|", ...rows].join("\n");
}

/** The most that the texts of all tools may add to every request, tokens. */
export const TOOLS_BUDGET = 2_650;

/**
 * The size that a tool adds to every request, tokens at four characters each: schema and
 * description, snippet and guidelines.
 */
export function toolTokens({ name, description, parameters, promptSnippet, guidelines }: Tool): number {
  const schema = JSON.stringify({ name, description, parameters });
  const prompt = [`- ${name}: ${promptSnippet}`, ...guidelines.map((line) => `- ${line}`)].join("\n");
  return Math.ceil((schema.length + prompt.length) / 4);
}
