import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { drive } from "../../scripts/agents/drive.ts";
import { answerTo, resultsIn } from "../../scripts/agents/model.ts";
import { AGENTS, type Agent } from "../../scripts/agents/table.ts";
import { COMMAND } from "../support/command.ts";
import { folderWith } from "../support/tree.ts";

const FAKE = fileURLToPath(new URL("../support/fake-agent.ts", import.meta.url));

const AGENT: Agent = {
  ...{ package: "none", program: "fake", client: "gemini", args: () => [] },
  files: (entry, url) => ({ "agent.json": JSON.stringify({ entry, url }) }),
};

test("the check of agents drives one over HTTP through a kill", async () => {
  const belay = [process.execPath, ...COMMAND];
  const driven = await drive(AGENT, { folder: folderWith(), program: [process.execPath, FAKE], belay, isHttp: true });
  // The SDK's client asks a server that was started again for what it missed.
  expect(driven.wentOn).toBe(true);
});

const PLAN = [
  { tool: "rlm_status", args: {} },
  { tool: "rlm_exec", args: { code: "1" } },
];

/** A request of an agent that has made one call, and what its model's next one looks like. */
const PROTOCOLS = [
  [
    "chat completions",
    { stream: true, messages: [{ role: "tool", content: "one" }], tools: [{ function: { name: "belay_rlm_exec" } }] },
    { tools: [{ id: "call-7", name: "belay_rlm_exec", arguments: { code: "1" } }] },
  ],
  [
    "chat completions, tools deferred",
    {
      stream: true,
      messages: [{ role: "tool", content: "mcp__belay__rlm_exec" }],
      tools: [{ function: { name: "tool_call" } }],
    },
    {
      tools: [
        { id: "call-7", name: "tool_call", arguments: { name: "mcp__belay__rlm_exec", arguments: { code: "1" } } },
      ],
    },
  ],
  [
    "contents",
    {
      contents: [{ parts: [{ functionResponse: {} }] }],
      tools: [{ functionDeclarations: [{ name: "mcp_belay_rlm_exec" }] }],
    },
    { body: expect.stringContaining('"functionCall":{"name":"mcp_belay_rlm_exec","args":{"code":"1"}}') },
  ],
  [
    "messages",
    {
      stream: true,
      messages: [{ role: "user", content: [{ type: "tool_result", content: "one" }] }],
      tools: [{ name: "mcp__belay__rlm_exec" }],
    },
    { body: expect.stringContaining('"partial_json":"{\\"code\\":\\"1\\"}"') },
  ],
] as const;

test.each(PROTOCOLS)("the scripted model reads and answers %s", (protocol, body, answer) => {
  const headers = protocol === "messages" ? { "anthropic-version": "2023-06-01" } : {};
  const empty = { at: 0, ended: null, disconnected: false, headers, body: { model: "", messages: [] }, prompt: "" };
  const request = { ...empty, index: 7, sent: JSON.stringify(body) };
  expect(answerTo(request, PLAN)).toEqual(answer);
  expect(resultsIn(request)).toHaveLength(1);
  const without = answerTo({ ...request, sent: JSON.stringify({ messages: [] }) }, PLAN);
  if (protocol === "messages") expect(without?.body).toContain('"text":"done"');
  else expect(without).toBeNull();
});

test("an agent that makes no calls fails the check, with what it said", async () => {
  const place = { folder: folderWith(), program: ["echo", "no tools"], belay: [process.execPath, ...COMMAND] };
  await expect(drive(AGENT, place)).rejects.toThrow(/^made 0 of 4 calls \(exit 0\): no tools/);
});

test.each(Object.entries(AGENTS))("the files of %s hold the entry as it is printed", (_name, agent) => {
  const entry = agent.client === "codex" || agent.client === "continue" ? "entry: 1\n" : '{ "entry": 1 }';
  expect(Object.values(agent.files(entry, "http://127.0.0.1:1/v1")).join("")).toContain("entry");
  expect(agent.args("do it", "/home")).toContain("do it");
});
