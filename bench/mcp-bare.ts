import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

// A server of the SDK with one tool that does nothing: what any server costs.

serveStdio(() => {
  const server = new Server({ name: "bare", version: "1" }, { capabilities: { tools: {} } });
  const tools = [{ name: "nothing", description: "Does nothing", inputSchema: { type: "object" as const } }];
  server.setRequestHandler("tools/list", () => ({ tools }));
  return server;
});
