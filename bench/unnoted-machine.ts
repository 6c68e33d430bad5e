import { type ContextServices, createLibrary } from "../builtins/index.ts";
import { serveSandbox } from "../runtime/threads/serve.ts";
import { openText } from "../src/context/text/text.ts";
import type { ContextMessage } from "../src/session/machine/context-message.ts";
import { openServices } from "../src/session/machine/services.ts";

// A machine's thread whose cells have no coverage: what peek and find give is not noted.
await serveSandbox<ContextMessage>(() => {
  const services = openServices();
  let context: ContextServices | undefined;
  const unnoted = { ...services, context: () => context ?? services.context(), loaded: () => context };
  return createLibrary(unnoted, (message) => {
    if ("history" in message || "functions" in message) return;
    services.use(message);
    const { slice } = openText(message.text);
    context = { ...services.context(), slice, coverage: { whole() {}, matched() {}, sent() {} } };
    return { command: "P.forget" };
  });
});
