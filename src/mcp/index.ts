export { type Client, configFor, WHERE } from "./clients.ts";
export { type HttpParts, serveHttp } from "./http.ts";
export { openLeaving } from "./leaving.ts";
export { serve } from "./serve.ts";
export type { SessionSource } from "./session-source.ts";
