import type { Client } from "../../src/mcp/index.ts";

/** An agent that drives Belay's tools. */
export interface Agent {
  /** Its package on npm, and the program in it. */
  readonly package: string;
  readonly program: string;
  /** The form of the entry that `belay mcp --print-config` prints for it. */
  readonly client: Client;
  /** Its files by their path in the home folder. @param entry as printed; @param url of its model's server */
  files(entry: string, url: string): Readonly<Record<string, string>>;
  /** Arguments for one prompt without a terminal. */
  args(prompt: string, home: string): readonly string[];
  env?(url: string): Readonly<Record<string, string>>;
}

const merged = (entry: string, more: object) => JSON.stringify({ ...JSON.parse(entry), ...more });
const settings = (type: string) => ({
  security: { auth: { selectedType: type } },
  privacy: { usageStatisticsEnabled: false },
});

export const AGENTS: Readonly<Record<string, Agent>> = {
  claude: {
    package: "@anthropic-ai/claude-code",
    program: "claude",
    client: "claude",
    files: (entry) => ({ "mcp.json": entry }),
    args: (prompt, home) => [
      ...["-p", prompt, "--model", "m", "--mcp-config", `${home}/mcp.json`, "--strict-mcp-config"],
      "--allowedTools=mcp__belay",
    ],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "k",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      // Otherwise its model finds the tools by a search of its own.
      ENABLE_TOOL_SEARCH: "false",
    }),
  },
  copilot: {
    package: "@github/copilot",
    program: "copilot",
    client: "copilot",
    files: (entry) => ({ ".copilot/mcp-config.json": entry }),
    args: (prompt) => ["-p", prompt, "--allow-all-tools"],
    // With a model of the user's own, and offline, it wants no login.
    env: (url) => ({
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_API_KEY: "k",
      COPILOT_MODEL: "m",
    }),
  },
  codex: {
    package: "@openai/codex",
    program: "codex",
    client: "codex",
    files: (entry, url) => ({
      ".codex/config.toml": `model = "m"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\nbase_url = "${url}"\nwire_api = "responses"\n${entry}`,
    }),
    // It would send its first request before the server has told its tools.
    args: (prompt) => ["exec", "--skip-git-repo-check", "-c", "mcp_servers.belay.required=true", prompt],
  },
  opencode: {
    package: "opencode-ai",
    program: "opencode",
    client: "opencode",
    files: (entry, baseURL) => {
      const local = {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL, apiKey: "k" },
        models: { m: { name: "m" } },
      };
      return { ".config/opencode/opencode.json": merged(entry, { provider: { local }, autoupdate: false }) };
    },
    args: (prompt) => ["run", "-m", "local/m", prompt],
  },
  gemini: {
    package: "@google/gemini-cli",
    program: "gemini",
    client: "gemini",
    files: (entry) => ({ ".gemini/settings.json": merged(entry, settings("gemini-api-key")) }),
    args: (prompt) => ["--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt],
    env: (url) => ({ GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: new URL(url).origin }),
  },
  qwen: {
    package: "@qwen-code/qwen-code",
    program: "qwen",
    client: "qwen",
    files: (entry) => ({ ".qwen/settings.json": merged(entry, settings("openai")) }),
    args: (prompt) => ["-m", "m", prompt],
    env: (url) => ({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: url }),
  },
  cline: {
    package: "cline",
    program: "cline",
    client: "cline",
    files: (entry, baseUrl) => ({
      ".cline/data/settings/cline_mcp_settings.json": entry.replace("YOUR_KEY", "key"),
      ".cline/data/settings/providers.json": JSON.stringify({
        version: 1,
        lastUsedProvider: "openai-compatible",
        modes: {},
        providers: {
          "openai-compatible": {
            settings: { provider: "openai-compatible", apiKey: "k", model: "m", baseUrl },
            updatedAt: "2026-01-01T00:00:00.000Z",
            tokenSource: "manual",
          },
        },
      }),
    }),
    args: (prompt) => ["-P", "openai-compatible", "-k", "k", "-m", "m", prompt],
  },
  continue: {
    package: "@continuedev/cli",
    program: "cn",
    client: "continue",
    files: (entry, url) => ({
      ".continue/config.yaml": `${entry}models:\n  - name: m\n    provider: openai\n    model: m\n    apiBase: ${url}\n    apiKey: k\n`,
    }),
    args: (prompt, home) => ["--config", `${home}/.continue/config.yaml`, "-p", "--auto", prompt],
  },
};
