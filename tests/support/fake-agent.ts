import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

// An agent in small: it offers a server's tools to its model in the protocol of responses, and calls what the model calls.

const { entry, url } = JSON.parse(readFileSync(join(process.env.HOME ?? "", "agent.json"), "utf8"));
const { command, args, env, httpUrl } = JSON.parse(entry).mcpServers.belay;
const client = new Client({ name: "fake", version: "1" });
const headers = { Authorization: `Bearer ${process.env.BELAY_MCP_TOKEN}` };
await client.connect(
  httpUrl
    ? new StreamableHTTPClientTransport(new URL(httpUrl), { requestInit: { headers } })
    : new StdioClientTransport({
        command,
        args,
        stderr: "ignore",
        env: { PATH: process.env.PATH ?? "", ...env, K: process.env.K ?? "" },
      }),
);
const names = (await client.listTools()).tools.map(({ name }) => `mcp_belay_${name}`);
const results: string[] = [];
for (let call = await asked(); call; call = await asked()) {
  const { content } = await client.callTool({ name: call.name.slice("mcp_belay_".length), arguments: call.args });
  results.push(JSON.stringify(content));
}
await client.close();

/** The call that the model answers with; null for a text. */
async function asked(): Promise<{ name: string; args: Record<string, unknown> } | null> {
  const body = {
    input: results.map((output) => ({ type: "function_call_output", output })),
    tools: [{ type: "namespace", name: "belay", tools: names.map((name) => ({ type: "function", name })) }],
  };
  const response = await fetch(`${url}/responses`, { method: "POST", body: JSON.stringify(body) });
  const events = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  const item = events.map((line) => JSON.parse(line.slice(6)).item).find((each) => each?.type === "function_call");
  return item ? { name: item.name, args: JSON.parse(item.arguments) } : null;
}
