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

const ENTRIES = readFileSync(new URL("./entries.md", import.meta.url), "utf8");

const CLIENTS = [
  ...(["claude", "codex", "cursor", "zed", "vscode", "gemini", "qwen"] as const),
  ...(["opencode", "cline", "continue", "copilot", "kilo", "pi"] as const),
] satisfies readonly Client[];

/** The page shows one entry, and names the other clients. */
const SHOWN: Client = "claude";

test.each(CLIENTS)("the entry that is printed for %s is the one that is shown, or its client is named", (client) => {
  const isShown = client === SHOWN;
  if (!isShown) expect(PAGE).toContain(`\`${client}\``);
  const [, section = ""] = isShown ? PAGE.split("Claude Code, in ") : ENTRIES.split(`\n${client}\n`);
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
