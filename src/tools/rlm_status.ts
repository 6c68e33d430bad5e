import { defineOpeningTool, type Tool } from "./define.ts";
import type { SessionHost } from "./session-host.ts";

export const rlm_status = (host: Pick<SessionHost, "status">): Tool =>
  defineOpeningTool({
    name: "rlm_status",
    label: "RLM status",
    description: "The session: context, budget, what runs or is unfinished, other sessions of this folder.",
    promptSnippet: "See the session, its context and its budget",
    parameters: { type: "object", properties: {} },
    moved: { session: "rlm_wait", discard: "rlm_wait" },
    run: () => host.status(),
    rest: "Load fewer sources, or ask for one thing at a time.",
    failureFields: {
      session: null,
      context: null,
      budget: null,
      running: null,
      unfinished: null,
      roots: [],
      sessions: [],
      coverage: null,
    },
  });
