import type { Client } from "../../mcp/index.ts";
import type { Given } from "../flags/arguments.ts";
import { SERVER_FLAGS, sessionFlagsBut, withHelps } from "../flags/declared.ts";
import { choice, count, toggle, under, words } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const LEAST_BYTES = 4_000;
const MOST_BYTES = 400_000;

/** Named here, so that the server is not loaded for a line of help. */
const CLIENTS = [
  ...(["claude", "codex", "cursor", "zed", "vscode"] as const),
  ...(["gemini", "qwen", "opencode", "cline", "continue"] as const),
  ...(["copilot", "kilo", "pi"] as const),
] satisfies readonly Client[];

const OWN = under("output", {
  http: {
    type: toggle,
    help: "serve on 127.0.0.1 instead, to clients with the printed token, or that of BELAY_MCP_TOKEN",
  },
  port: { type: count(65_535, 0), needs: ["http"], help: "listen on port N (default 7431; 0: any free port)" },
  tools: {
    type: choice(["core", "workflow", "all"]),
    help: "core (default): load, exec, query, ask, status and wait; workflow: also rlm_workflow, with which the model directs many agents; all: helpers and memory instead, which cells reach without tools",
  },
  agents: {
    type: words("NAME,…", "names of agents", (name) => /^[A-Za-z][\w-]{0,39}$/.test(name)),
    help: "let the client's workflows run these `agents` of your configuration, with your rights; the first answers calls that name none (default: none, the model answers). Needs --tools workflow",
  },
  answerMs: {
    type: count(Number.MAX_SAFE_INTEGER, 0),
    help: "answer a call that still runs after N ms, and let it continue (default 50000, 240000 if the client asks for progress; 0: never)",
  },
  answerBytes: {
    type: count(MOST_BYTES, LEAST_BYTES),
    help: `cut answers to N bytes, ${LEAST_BYTES} to ${MOST_BYTES} (default 19000; 40000 for clients that were measured to show more, less for those that show less)`,
  },
  printConfig: {
    type: { ...choice(CLIENTS), word: "CLIENT" },
    help: `print the entry that registers this server with CLIENT (${CLIENTS.join(", ")}), with the other flags, and end; with --http the entry of a server that you start`,
  },
});

export type McpFlags = Given<typeof OWN>;

/**
 * The model loads contexts by itself, the server's session outlives the process, and stderr is the
 * client's log.
 */
const SHARED = sessionFlagsBut(
  ...[
    "context",
    "raw",
    "include-secrets",
    "encoding",
    "lossy",
    "delivery",
    "reload",
    "append",
    "discard",
    "no-store",
    "verbose",
    "quiet",
  ],
);

const OWN_WORDS = {
  root: "allow contexts to be loaded from DIR; default: the client's folders, else the working folder",
  session:
    "continue this session, or make it; default: BELAY_SESSION, else the session of the project's folder, which is kept",
};

export const mcp = {
  name: "mcp",
  summary: "serve the tools to an MCP client (Claude Code, Codex, Cursor, Zed, VS Code and others) on stdin and stdout",
  details: [
    "A client starts it. --print-config prints the entry for the client's configuration, and the file that it goes into.",
    "The session is that of the project's folder, so that the next server finds its variables and finishes interrupted work. --session NAME, or the variable BELAY_SESSION, chooses another. Settings are those of the flags, variables and files of the server that is running.",
    "With --http it serves several clients, such as programs and web servers, until Ctrl-C. Each gets its own session, the first one that of the folder; the address /mcp/NAME names one.",
    "When the client disconnects, the running exec stops where it is. The same call again, or rlm_wait, finishes it; recorded answers are not requested again.",
  ],
  own: OWN,
  shared: withHelps([...SHARED, ...SERVER_FLAGS], OWN_WORDS),
  examples: [
    { about: "print the entry for Claude Code", lines: [["mcp", "--print-config", "claude"]] },
    {
      about: "print one that lets Codex direct agents",
      lines: [["mcp", "--print-config", "codex", "--tools", "workflow"]],
    },
  ],
  common: [
    "print-config",
    "tools",
    "http",
    "port",
    "root",
    "model",
    "session",
    "store",
    "max-sub-calls",
    "max-cost-usd",
  ],
} satisfies CommandWords;
