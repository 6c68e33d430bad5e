import { createLibrary } from "../../builtins/index.ts";
import { serveSandbox } from "../../runtime/index.ts";
import type { ContextMessage } from "./context-message.ts";
import { openServices } from "./services.ts";

// The machine's thread: builtins over the context that the session sends.
await serveSandbox<null, ContextMessage>(() => {
  const services = openServices();
  return createLibrary(services, (message) => {
    services.use(message);
    return { command: "P.forget" };
  });
});
