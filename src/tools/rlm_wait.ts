import { RlmError } from "../../runtime/index.ts";
import { defineOpeningTool, type Tool } from "./define.ts";
import type { SessionHost } from "./session-host.ts";

export const rlm_wait = (host: SessionHost): Tool =>
  defineOpeningTool({
    name: "rlm_wait",
    label: "RLM wait",
    description: "Wait for what runs, and get its answer; or the answer of an exec that is over.",
    promptSnippet: "Wait for the answer of an exec that runs",
    parameters: {
      type: "object",
      properties: {
        exec_id: { type: "string", description: "Default: the newest" },
        from: { type: "integer", minimum: 0, description: "Of an answer that was cut: from this character on" },
        discard: { type: "boolean", description: "Do not wait: give up what runs or is unfinished" },
        session: { type: "string", description: "Do not wait: go over to this session; made if missing" },
      },
    },
    async run(_open, { exec_id = null, from, discard, session }) {
      if (discard && session !== undefined) {
        throw new RlmError("invalid_argument", "rlm_wait: discard and session do not go together", {
          suggestion: "Call it twice: discard gives up what is unfinished in the session that is open.",
        });
      }
      if (session !== undefined) return host.goTo(session);
      if (discard) return host.discard();
      return from === undefined ? host.wait(exec_id) : host.page(exec_id, from);
    },
    failureFields: { exec_id: null },
  });
