export { type Client, configFor, WHERE } from "./clients.ts";
export { openLeaving } from "./leaving.ts";
export { serve } from "./serve.ts";
export type { SessionPlace, SessionSource } from "./session-source.ts";
