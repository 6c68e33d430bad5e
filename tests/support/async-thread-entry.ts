import * as v from "valibot";
import { argumentCheck, type Builtin, type CallCheck, type Described, defineBuiltin } from "../../builtins/define.ts";
import { builtins } from "../../builtins/index.ts";
import { serveSandbox } from "../../runtime/threads/serve.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { openLibrary } from "../../src/session/machine/services.ts";

/** A builtin that the host answers, and whose call counts as one. */
function defineAsyncBuiltin(described: Described, params: Parameters<typeof argumentCheck>[1]): Builtin {
  const read = argumentCheck(described.name, params);
  const check: CallCheck = (_services, args) => {
    read(args);
    return 1;
  };
  return { ...described, calls: { [described.name]: check } };
}

const later = defineAsyncBuiltin(
  {
    name: "later",
    signature: "function later(value: Json, ms?: number): Promise<Json>",
    summary: "The value, after a while.",
    example: 'await later("x", 1)',
  },
  { value: v.unknown(), ms: v.optional(v.number()) },
);

const fails = defineAsyncBuiltin(
  {
    name: "fails",
    signature: "function fails(code: string): Promise<never>",
    summary: "An error with this code.",
    example: 'await fails("timeout").catch((error) => error.code)',
  },
  { code: v.string() },
);

const reversed = defineBuiltin({
  ...{ name: "reversed", signature: "function reversed(text: string): string" },
  ...{ summary: "The text from its end to its beginning.", example: 'reversed("abc")', params: { text: v.string() } },
  run: (_services, { text }) => [...text].reverse().join(""),
});

const runs = defineBuiltin({
  ...{ name: "runs", signature: "function runs(): null", summary: "Tells the host that the cell runs." },
  ...{ example: "runs()", params: {} },
  run: (_services, _args, scope) => {
    scope.notice("the cell runs");
    return null;
  },
});

// The machines' thread with builtins that the next version could have: two that the host answers, two that answer at once.
await serveSandbox<ContextMessage>(() => openLibrary([...builtins, later, fails, reversed, runs]));
