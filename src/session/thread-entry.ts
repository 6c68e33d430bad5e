import { serveSandbox } from "../../runtime/threads/serve.ts";
import type { ContextMessage } from "./machine/context-message.ts";
import { openLibrary } from "./machine/services.ts";

// The machines' thread.
await serveSandbox<ContextMessage>(() => openLibrary());
