import { READ_TOOLS } from "../../src/models/agent-tools/index.ts";

/** The tools that every sub-agent may have, by their definitions. */
export function agentToolsTable(): string {
  const rows = READ_TOOLS.map(({ name, aliases, description }) => {
    const names = [name, ...aliases].map((each) => `\`${each}\``);
    return `| ${names.join(" or ")} | ${description} |`;
  });
  return ["| tool | what it does |", "|---|---|", ...rows].join("\n");
}
