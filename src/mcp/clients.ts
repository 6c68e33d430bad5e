/** Programs that start MCP servers. */
export type Client = keyof typeof WHERE;

/** The process that an entry starts, or the server over HTTP that it names. */
interface Started {
  /** Arguments of `belay`. */
  readonly args: readonly string[];
  /** The address of a server that the user starts; null: the client starts one. */
  readonly url: string | null;
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

/** The file that takes an entry, and what is left to do there. */
export const WHERE = {
  claude: ".mcp.json of the project (for all projects: `claude mcp add-json --scope user belay 'ENTRY'`)",
  codex: "~/.codex/config.toml",
  cursor: ".cursor/mcp.json of the project, or ~/.cursor/mcp.json",
  zed: "settings.json of Zed; it takes values only, so put the key in place of YOUR_KEY",
  vscode: ".vscode/mcp.json of the project; it asks for the key once",
  gemini: ".gemini/settings.json of the project, or ~/.gemini/settings.json",
  qwen: ".qwen/settings.json of the project, or ~/.qwen/settings.json",
  opencode: "opencode.json of the project, or ~/.config/opencode/opencode.json",
  copilot: "~/.copilot/mcp-config.json",
  kilo: "kilo.json of the project, or ~/.config/kilo/kilo.json",
  pi: ".pi/mcp.json of the project, or ~/.pi/agent/mcp.json, for the package pi-mcp-adapter (`pi install npm:belay-rlm` has more, without MCP)",
  cline: "~/.cline/data/settings/cline_mcp_settings.json; it takes values only, so put the key in place of YOUR_KEY",
  continue: ".continue/mcpServers/belay.yaml of the project (for `cn --config FILE`: its part mcpServers)",
};

/**
 * The time that a client which would give up earlier is to wait for a call: longer than the server
 * takes to answer.
 */
const TOOL_SECONDS = 300;

/** The variable with the token of a server over HTTP. */
export const TOKEN_VARIABLE = "BELAY_MCP_TOKEN";

type Write = (variable: string) => string;

const bearer = (write: Write) => `Bearer ${write(TOKEN_VARIABLE)}`;

function jsonConfig(client: Exclude<Client, "codex" | "continue">, { args, url, secrets, env }: Started): object {
  const known = url === null ? { command: "belay", args } : { url };
  const typed = (local: string, remote: string) => ({ type: url === null ? local : remote });
  /** The variables of its process, or the header of its requests. */
  const carried = (write: Write, field = "env") => {
    if (url !== null) return { headers: { Authorization: bearer(write) } };
    const variables = { ...env, ...Object.fromEntries(secrets.map((name) => [name, write(name)])) };
    return Object.keys(variables).length > 0 ? { [field]: variables } : {};
  };
  const inBraces: Write = (name) => `\${${name}}`;
  const typedIn: Write = () => (url === null ? "YOUR_KEY" : "YOUR_TOKEN");
  const milliseconds = TOOL_SECONDS * 1000;
  switch (client) {
    case "claude":
      return { mcpServers: { belay: { ...typed("stdio", "http"), ...known, ...carried(inBraces) } } };
    case "copilot":
      return { mcpServers: { belay: { ...typed("local", "http"), ...known, ...carried(inBraces), tools: ["*"] } } };
    case "cursor":
      return { mcpServers: { belay: { ...known, ...carried((name) => `\${env:${name}}`) } } };
    case "zed": {
      const source = url === null ? { source: "custom" } : {};
      return { context_servers: { belay: { ...source, ...known, ...carried(typedIn) } } };
    }
    case "vscode": {
      const asked = url === null ? secrets : [TOKEN_VARIABLE];
      const inputs = asked.map((id) => ({ type: "promptString", id, description: id, password: true }));
      const servers = { belay: { ...typed("stdio", "http"), ...known, ...carried((name) => `\${input:${name}}`) } };
      return inputs.length > 0 ? { inputs, servers } : { servers };
    }
    case "gemini":
    case "qwen": {
      const place = url === null ? known : { httpUrl: url };
      // Without trust each call is asked for, and without a terminal there is no tool at all.
      return { mcpServers: { belay: { ...place, ...carried(inBraces), trust: true } } };
    }
    case "kilo":
    case "opencode": {
      const place = url === null ? { command: ["belay", ...args] } : { url };
      const variables = carried((name) => `{env:${name}}`, "environment");
      const belay = { ...typed("local", "remote"), ...place, ...variables, timeout: milliseconds };
      const host = client === "kilo" ? "app.kilo.ai" : "opencode.ai";
      return { $schema: `https://${host}/config.json`, mcp: { belay } };
    }
    case "cline": {
      const type = url === null ? {} : { type: "streamableHttp" };
      return { mcpServers: { belay: { ...type, ...known, ...carried(typedIn), timeout: TOOL_SECONDS } } };
    }
    case "pi":
      return { mcpServers: { belay: { ...known, ...carried(inBraces), requestTimeoutMs: milliseconds } } };
  }
}

/** TOML: its strings and lists of strings are written as in JSON. */
function codexConfig({ args, url, secrets, env }: Started): string {
  const variables = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const started = ['command = "belay"', `args = ${JSON.stringify(args)}`];
  if (secrets.length > 0) started.push(`env_vars = ${JSON.stringify(secrets)}`);
  return [
    "[mcp_servers.belay]",
    ...(url === null ? started : [`url = "${url}"`, `bearer_token_env_var = "${TOKEN_VARIABLE}"`]),
    `tool_timeout_sec = ${TOOL_SECONDS}`,
    "# Codex asks before each call, and `codex exec` refuses calls that it would ask about. Delete this line to be asked.",
    'default_tools_approval_mode = "approve"',
    ...(url === null && variables.length > 0 ? ["", "[mcp_servers.belay.env]", ...variables] : []),
    "",
  ].join("\n");
}

/** YAML: its strings and lists of strings may be written as in JSON. */
function continueConfig({ args, url, secrets, env }: Started): string {
  const secret: Write = (name) => `\${{ secrets.${name} }}`;
  const taken = secrets.map((name) => [name, secret(name)] as const);
  const variables = [...Object.entries(env), ...taken].map(
    ([name, value]) => `      ${name}: ${JSON.stringify(value)}`,
  );
  const started = ["    command: belay", `    args: ${JSON.stringify(args)}`];
  if (variables.length > 0) started.push("    env:", ...variables);
  const remote = [
    "    type: streamable-http",
    `    url: ${url}`,
    "    requestOptions:",
    "      headers:",
    `        Authorization: ${JSON.stringify(bearer(secret))}`,
  ];
  return [
    "name: Belay",
    "version: 1.0.0",
    "schema: v1",
    "mcpServers:",
    "  - name: belay",
    ...(url === null ? started : remote),
    "",
  ].join("\n");
}
