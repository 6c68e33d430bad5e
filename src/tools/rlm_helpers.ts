import { defineTool } from "./define.ts";

export const rlm_helpers_add = defineTool({
  name: "rlm_helpers_add",
  label: "RLM helper",
  description:
    "Add (or replace) a helper: JavaScript that runs before each later cell, so that its functions are there.",
  promptSnippet: "Define functions for later rlm_exec calls",
  parameters: {
    type: "object",
    required: ["name", "code"],
    properties: { name: { type: "string" }, code: { type: "string" } },
  },
  async run(session, { name, code }) {
    await session.helpers.add(name, code);
    return { name };
  },
  recorded: ({ name }) => ({ name }),
  failureFields: { name: null },
});

export const rlm_helpers_list = defineTool({
  name: "rlm_helpers_list",
  label: "RLM helpers",
  description: "List helpers in the order in which they run; set_aside says why one is left out.",
  promptSnippet: "List helpers",
  parameters: { type: "object", properties: {} },
  run: async (session) => ({ helpers: await session.helpers.list() }),
  rest: "In rlm_exec, helpers.list() gives them all: print slices.",
  failureFields: { helpers: [] },
});

export const rlm_helpers_remove = defineTool({
  name: "rlm_helpers_remove",
  label: "RLM helper",
  description: "Remove a helper. removed is false if there was none.",
  promptSnippet: "Remove a helper",
  parameters: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
  run: async (session, { name }) => ({ name, removed: await session.helpers.remove(name) }),
  recorded: ({ name }, { before }) => ({ name, removed: before.helpers.some((helper) => helper.name === name) }),
  failureFields: { name: null, removed: false },
});
