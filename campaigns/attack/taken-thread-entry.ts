import { builtins } from "../../builtins/index.ts";
import { serveSandbox } from "../../runtime/threads/serve.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { openLibrary } from "../../src/session/machine/services.ts";

// The machines' thread as somebody has it who took over the guest and the thread: cells call by any name, and nothing is checked.

const check = () => 1;

const taken = {
  ...{ name: "taken", signature: "function taken(name: string, args: unknown[]): Promise<unknown>" },
  ...{ summary: "Calls by any name.", example: 'taken("evil", [])' },
  source: new URL("./taken.guest.js", import.meta.url),
  calls: { evil: check, constructor: check },
};

await serveSandbox<ContextMessage>(() => {
  const library = openLibrary([...builtins, taken]);
  const unchecked = Object.entries(library.async).map(([name, call]) => [name, { ...call, check }] as const);
  return { ...library, async: Object.fromEntries(unchecked) };
});
