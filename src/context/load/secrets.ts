/** Names of files that hold keys or passwords, and of folders that hold such files, in lower case. */
const FILES =
  /^(?:\.env(?:\.(?!example$|sample$|template$|dist$).+)?|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|key)|\.npmrc|\.netrc|_netrc|\.pgpass|\.git-credentials)$/;
const FOLDERS = new Set([".aws", ".ssh", ".gnupg"]);

/** Settings of coding agents that a project keeps at its top: they name MCP servers, often with their tokens. */
const AGENT_FILES =
  /^(?:\.?mcp\.jsonc?|(?:\w+[-_])?mcp[-_](?:config|settings|servers)\.jsonc?|\.?(?:opencode|kilo|crush)\.jsonc?|\.claude\.json|\.aider\.conf\.ya?ml)$/;
/** Folders of coding agents. Their instructions are Markdown and may be read, and their settings may not. */
const AGENT_FOLDERS = new Set([
  ...[".amazonq", ".augment", ".claude", ".cline", ".codeium", ".codex", ".continue", ".copilot", ".crush", ".cursor"],
  ...[".factory", ".gemini", ".goose", ".junie", ".kilo", ".kilocode", ".kiro", ".opencode", ".pi", ".qwen", ".roo"],
  ...[".trae", ".windsurf", ".zed"],
]);
const AGENT_SETTINGS = /\.(?:json[c5]?|toml|ya?ml)$/;

/** The reason why a load leaves such a file out. */
export const MAY_BE_SECRET = "may contain secrets";

/** True if a file or folder of this path (with `/`), packed or not, holds keys or passwords by its name. */
export function mayBeSecret(path: string): boolean {
  const folders = path.toLowerCase().split("/");
  const name = (folders.pop() ?? "").replace(/\.(?:gz|zst|zstd)$/, "");
  return (
    FILES.test(name) ||
    AGENT_FILES.test(name) ||
    [...folders, name].some((folder) => FOLDERS.has(folder)) ||
    (AGENT_SETTINGS.test(name) && folders.some((folder) => AGENT_FOLDERS.has(folder)))
  );
}
