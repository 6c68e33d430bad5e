export { type Client, configFor, TOKEN_VARIABLE, WHERE } from "./clients.ts";
export { addressOf, type HttpParts, serveHttp } from "./http.ts";
export { serve } from "./serve.ts";
export { entrySession, type SessionSource } from "./session-source.ts";

export { openShutdown } from "./shutdown.ts";
