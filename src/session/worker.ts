import { serveSandbox } from "../../runtime/index.ts";
import type { ContextMessage } from "./context-message.ts";
import { openLibrary } from "./services.ts";

// The machines' thread.
await serveSandbox<null, ContextMessage>(() => openLibrary());
