import * as v from "valibot";
import { builtins, defineAsyncBuiltin } from "../../builtins/index.ts";
import { serveSandbox } from "../../runtime/index.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { openLibrary } from "../../src/session/machine/services.ts";

const later = defineAsyncBuiltin({
  name: "later",
  signature: "function later(value: Json, ms?: number): Promise<Json>",
  summary: "The value, after a while.",
  example: 'await later("x", 1)',
  params: { value: v.unknown(), ms: v.optional(v.number()) },
});

const fails = defineAsyncBuiltin({
  name: "fails",
  signature: "function fails(code: string): Promise<never>",
  summary: "An error with this code.",
  example: 'await fails("timeout").catch((error) => error.code)',
  params: { code: v.string() },
});

// The machines' thread with two builtins that the host answers: what tests of the pending path call.
await serveSandbox<null, ContextMessage>(() => openLibrary([...builtins, later, fails]));
