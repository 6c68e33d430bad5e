import { builtins, createLibrary, isReserved } from "../../builtins/index.ts";
import { serveSandbox } from "../../runtime/threads/serve.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { openServices } from "../../src/session/machine/services.ts";

// The machine's thread as it was before there were builtins that cells may shadow.
await serveSandbox<ContextMessage>(() =>
  createLibrary(
    openServices(),
    () => undefined,
    builtins.filter(({ name }) => isReserved(name)),
  ),
);
