/** Programs that start MCP servers. */
export type Client = "claude" | "codex" | "cursor" | "zed" | "vscode";

/** What an entry starts. */
export interface Started {
  /** Arguments of `belay`. */
  readonly args: readonly string[];
  /** Variables whose values the client is to take from its own environment. */
  readonly secrets: readonly string[];
  /** Variables with their values. */
  readonly env: Readonly<Record<string, string>>;
}

/** The entry that registers the server with a client, as its file has it. */
export function configFor(client: Client, started: Started): string {
  if (client === "codex") return codexConfig(started);
  return `${JSON.stringify(jsonConfig(client, started), null, 2)}\n`;
}

/** The file that an entry belongs into, and what is left to do. */
export const WHERE: Readonly<Record<Client, string>> = {
  claude: ".mcp.json of the project (for all projects: `claude mcp add-json --scope user belay 'ENTRY'`)",
  codex: "~/.codex/config.toml",
  cursor: ".cursor/mcp.json of the project, or ~/.cursor/mcp.json",
  zed: "settings.json of Zed; it takes values only, so put the key in place of YOUR_KEY",
  vscode: ".vscode/mcp.json of the project; it asks for the key once",
};

function jsonConfig(client: Exclude<Client, "codex">, { args, secrets, env }: Started): object {
  const known = { command: "belay", args };
  const valued = (write: (name: string) => string) => {
    const variables = { ...env, ...Object.fromEntries(secrets.map((name) => [name, write(name)])) };
    return Object.keys(variables).length > 0 ? { env: variables } : {};
  };
  switch (client) {
    case "claude":
      return { mcpServers: { belay: { type: "stdio", ...known, ...valued((name) => `\${${name}}`) } } };
    case "cursor":
      return { mcpServers: { belay: { ...known, ...valued((name) => `\${env:${name}}`) } } };
    case "zed":
      return { context_servers: { belay: { source: "custom", ...known, ...valued(() => "YOUR_KEY") } } };
    case "vscode": {
      const inputs = secrets.map((id) => ({ type: "promptString", id, description: id, password: true }));
      const servers = { belay: { type: "stdio", ...known, ...valued((name) => `\${input:${name}}`) } };
      return inputs.length > 0 ? { inputs, servers } : { servers };
    }
  }
}

/** TOML: its strings and lists of strings are written as in JSON. */
function codexConfig({ args, secrets, env }: Started): string {
  const variables = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return [
    "[mcp_servers.belay]",
    'command = "belay"',
    `args = ${JSON.stringify(args)}`,
    ...(secrets.length > 0 ? [`env_vars = ${JSON.stringify(secrets)}`] : []),
    ...(variables.length > 0 ? ["", "[mcp_servers.belay.env]", ...variables] : []),
    "",
  ].join("\n");
}
