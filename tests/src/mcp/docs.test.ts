import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Client, configFor } from "../../../src/mcp/index.ts";

const PAGE = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
const STARTED = {
  args: ["mcp", "--model", "anthropic/claude-sonnet-5"],
  secrets: ["ANTHROPIC_API_KEY"],
  env: {},
  url: null,
};

const TITLES = [
  ["claude", "Claude Code, "],
  ["codex", "Codex CLI, "],
  ["cursor", "Cursor, "],
  ["zed", "Zed, "],
  ["vscode", "VS Code, "],
  ["gemini", "Gemini CLI, "],
  ["qwen", "Qwen Code, "],
  ["opencode", "opencode, "],
  ["cline", "Cline, "],
  ["continue", "Continue, "],
  ["copilot", "GitHub Copilot CLI, "],
  ["kilo", "Kilo Code, "],
  ["pi", "Pi with the package "],
] as const satisfies readonly (readonly [Client, string])[];

const CLIENTS = TITLES.map(([client]) => client);

test.each(TITLES)("the page has the entry that is printed for %s", (client, title) => {
  const [, section = ""] = PAGE.split(`\n${title}`);
  const [, block = ""] = /```\w+\n(.*?)```/s.exec(section) ?? [];
  const printed = configFor(client, STARTED);
  if (client === "codex" || client === "continue") expect(block).toBe(printed);
  else expect(JSON.parse(block)).toEqual(JSON.parse(printed));
});

test("the entry of each client for a server over HTTP has its address and the token by name, and starts nothing", () => {
  const url = "http://127.0.0.1:7431/mcp/a";
  for (const client of CLIENTS) {
    const printed = configFor(client, { ...STARTED, env: { BELAY_HOME: "/h" }, url });
    expect(printed, client).toMatch(/rl"?:? =? ?"?http:\/\/127\.0\.0\.1:7431\/mcp\/a"?,?$/m);
    expect(printed, client).toMatch(/Bearer .*(BELAY_MCP_TOKEN|YOUR_TOKEN)|bearer_token_env_var = "BELAY_MCP_TOKEN"/);
    expect(printed, client).not.toMatch(/command|ANTHROPIC_API_KEY|BELAY_HOME/);
  }
});
