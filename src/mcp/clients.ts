/** Programs that start MCP servers. */
export type Client = keyof typeof WHERE;

/** The process that an entry starts. */
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
  if (client === "continue") return continueConfig(started);
  return `${JSON.stringify(jsonConfig(client, started), null, 2)}\n`;
}

/** The file that an entry belongs into, and what is left to do. */
export const WHERE = {
  claude: ".mcp.json of the project (for all projects: `claude mcp add-json --scope user belay 'ENTRY'`)",
  codex: "~/.codex/config.toml",
  cursor: ".cursor/mcp.json of the project, or ~/.cursor/mcp.json",
  zed: "settings.json of Zed; it takes values only, so put the key in place of YOUR_KEY",
  vscode: ".vscode/mcp.json of the project; it asks for the key once",
  gemini: ".gemini/settings.json of the project, or ~/.gemini/settings.json",
  qwen: ".qwen/settings.json of the project, or ~/.qwen/settings.json",
  opencode: "opencode.json of the project, or ~/.config/opencode/opencode.json",
  cline: "~/.cline/data/settings/cline_mcp_settings.json; it takes values only, so put the key in place of YOUR_KEY",
  continue: ".continue/mcpServers/belay.yaml of the project (for `cn --config FILE`: its part mcpServers)",
};

/** The time that a client which would give up earlier is to wait for a call: longer than the server takes to answer. */
const TOOL_SECONDS = 300;

function jsonConfig(client: Exclude<Client, "codex" | "continue">, { args, secrets, env }: Started): object {
  const known = { command: "belay", args };
  const valued = (write: (name: string) => string, field = "env") => {
    const variables = { ...env, ...Object.fromEntries(secrets.map((name) => [name, write(name)])) };
    return Object.keys(variables).length > 0 ? { [field]: variables } : {};
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
    case "gemini":
    case "qwen":
      // Without trust each call is asked for, and without a terminal there is no tool at all.
      return { mcpServers: { belay: { ...known, ...valued((name) => `\${${name}}`), trust: true } } };
    case "opencode": {
      const environment = valued((name) => `{env:${name}}`, "environment");
      const belay = { type: "local", command: ["belay", ...args], ...environment, timeout: TOOL_SECONDS * 1000 };
      return { $schema: "https://opencode.ai/config.json", mcp: { belay } };
    }
    case "cline":
      return { mcpServers: { belay: { ...known, ...valued(() => "YOUR_KEY"), timeout: TOOL_SECONDS } } };
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
    `tool_timeout_sec = ${TOOL_SECONDS}`,
    "# Codex asks before each call, and `codex exec` refuses calls that it would ask about. Delete this line to be asked.",
    'default_tools_approval_mode = "approve"',
    ...(variables.length > 0 ? ["", "[mcp_servers.belay.env]", ...variables] : []),
    "",
  ].join("\n");
}

/** YAML: its strings and lists of strings may be written as in JSON. */
function continueConfig({ args, secrets, env }: Started): string {
  const taken = secrets.map((name) => [name, `\${{ secrets.${name} }}`] as const);
  const variables = [...Object.entries(env), ...taken].map(
    ([name, value]) => `      ${name}: ${JSON.stringify(value)}`,
  );
  return [
    "name: Belay",
    "version: 1.0.0",
    "schema: v1",
    "mcpServers:",
    "  - name: belay",
    "    command: belay",
    `    args: ${JSON.stringify(args)}`,
    ...(variables.length > 0 ? ["    env:", ...variables] : []),
    "",
  ].join("\n");
}
