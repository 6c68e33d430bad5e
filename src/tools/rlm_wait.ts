import { Type } from "typebox";
import { defineHostTool, type Tool } from "./define.ts";
import type { SessionHost } from "./session-host.ts";

export const rlm_wait = (host: SessionHost): Tool =>
  defineHostTool({
    name: "rlm_wait",
    label: "RLM wait",
    description: "Wait for what runs, and get its answer; or the answer of an exec that is over.",
    promptSnippet: "Wait for the answer of an exec that runs",
    parameters: Type.Object({
      exec_id: Type.Optional(Type.String({ description: "Default: the newest" })),
      discard: Type.Optional(Type.Boolean({ description: "Do not wait: give up what runs or is unfinished" })),
    }),
    run: ({ exec_id, discard }, call) => (discard ? host.discard(call) : host.wait(exec_id ?? null, call)),
    failureFields: { exec_id: null },
  });
