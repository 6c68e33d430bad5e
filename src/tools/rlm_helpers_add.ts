import { Type } from "typebox";
import { defineTool } from "./define.ts";

export const rlm_helpers_add = defineTool({
  name: "rlm_helpers_add",
  label: "RLM helper",
  description:
    "Add (or replace) a helper: JavaScript that runs before each later cell, so that its functions are there.",
  promptSnippet: "Define functions for later rlm_exec calls",
  parameters: Type.Object({ name: Type.String(), code: Type.String() }),
  async run(session, { name, code }) {
    await session.helpers.add(name, code);
    return { name };
  },
  recorded: ({ name }) => ({ name }),
  failureFields: { name: null },
});
