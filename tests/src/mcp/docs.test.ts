import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Client, configFor } from "../../../src/mcp/index.ts";

const PAGE = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
const STARTED = { args: ["mcp", "--model", "anthropic/claude-sonnet-5"], secrets: ["ANTHROPIC_API_KEY"], env: {} };

test.each([
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
] as const satisfies readonly (readonly [Client, string])[])(
  "the page has the entry that is printed for %s",
  (client, title) => {
    const [, section = ""] = PAGE.split(`\n${title}`);
    const [, block = ""] = /```\w+\n(.*?)```/s.exec(section) ?? [];
    const printed = configFor(client, STARTED);
    if (client === "codex" || client === "continue") expect(block).toBe(printed);
    else expect(JSON.parse(block)).toEqual(JSON.parse(printed));
  },
);
