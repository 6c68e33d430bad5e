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

/** The words before the entry of a client: two are in the page, which lists the others with the file that each goes into. */
const TITLES = [
  ["claude", "Claude Code, in "],
  ["codex", "Codex CLI, "],
  ["cursor", "cursor\n"],
  ["zed", "zed\n"],
  ["vscode", "vscode\n"],
  ["gemini", "gemini\n"],
  ["qwen", "qwen\n"],
  ["opencode", "opencode\n"],
  ["cline", "cline\n"],
  ["continue", "continue\n"],
  ["copilot", "copilot\n"],
  ["kilo", "kilo\n"],
  ["pi", "pi\n"],
] as const satisfies readonly (readonly [Client, string])[];

const CLIENTS = TITLES.map(([client]) => client);

test.each(TITLES)(
  "the entry that is printed for %s is the one that is shown, or listed with its file",
  (client, title) => {
    const isShown = PAGE.includes(title);
    if (!isShown) expect(PAGE).toMatch(new RegExp(`^\\| .+ \\| \`${client}\` \\| .*\\.(?:json|yaml)\``, "m"));
    const [, section = ""] = (isShown ? PAGE : ENTRIES).split(title);
    const [, block = ""] = /```\w+\n(.*?)```/s.exec(section) ?? [];
    const printed = configFor(client, STARTED);
    if (client === "codex" || client === "continue") expect(block).toBe(printed);
    else expect(JSON.parse(block)).toEqual(JSON.parse(printed));
  },
);

test("the entry of each client for a server over HTTP has its address and the token by name, and starts nothing", () => {
  const url = "http://127.0.0.1:7431/mcp/a";
  for (const client of CLIENTS) {
    const printed = configFor(client, { ...STARTED, env: { BELAY_HOME: "/h" }, url });
    expect(printed, client).toMatch(/rl"?:? =? ?"?http:\/\/127\.0\.0\.1:7431\/mcp\/a"?,?$/m);
    expect(printed, client).toMatch(/Bearer .*(BELAY_MCP_TOKEN|YOUR_TOKEN)|bearer_token_env_var = "BELAY_MCP_TOKEN"/);
    expect(printed, client).not.toMatch(/command|ANTHROPIC_API_KEY|BELAY_HOME/);
  }
});
