import { hash } from "node:crypto";
import ignore from "ignore";

/**
 * The ignore rules that hold in a folder. Patterns and paths are compared as UTF-8 bytes, as git
 * does.
 */
export interface IgnoreRules {
  readonly top: string;
  readonly matcher: ignore.Ignore;
  readonly cost: number;
  readonly id: string;
}

const OPTIONS = { ignorecase: false, allowRelativePaths: true };

/** A larger rule file is reported, not applied. */
export const MAX_RULE_FILE_BYTES = 256 * 1024;
export const RULES_TOO_LARGE = `its rules are not applied: larger than ${MAX_RULE_FILE_BYTES / 1024} KB`;
/** Tells how many rules of a file are not applied. */
export const refusedRules = (count: number) =>
  `${count} of its rules are not applied: they are too long, or matching them could take too long`;
/**
 * A hostile rule file must not keep the loader busy. Matching a path of depth d against a rule with
 * k globstars takes up to d^k / k! steps; at a depth of 128, rules of this total cost take about
 * 0.15 s for a path that was made for it. Rules beyond it are reported, not applied: with four
 * globstars any, with three from about the 40th on.
 */
const MAX_COST = 100_000;
const COST_PER_GLOBSTAR = 50;
/**
 * No path is longer, and an expression that is made of a longer rule may be too large to compile.
 */
const MAX_RULE_BYTES = 4096;

/**
 * The rules that hold if there are none. `cost` bounds the time to match one path, in units of a
 * rule without globstars. Other rules have another `id`.
 *
 * @param top folder that paths are matched relative to: the repository's top, or the loaded folder
 * outside of one
 */
export function noRules(top: string): IgnoreRules {
  return { top, matcher: ignore(OPTIONS), cost: 0, id: "" };
}

/**
 * `rules` and then those of a rule file of `folder` (relative to the top), and how many of these
 * are too long, or take too long to match.
 */
export function withRuleText(
  rules: IgnoreRules,
  folder: string,
  content: Uint8Array,
): { readonly rules: IgnoreRules; readonly refused: number } {
  let { cost } = rules;
  const all = patternsOf(bytesAsText(content), bytesAsText(Buffer.from(folder)));
  const patterns = all.filter((pattern) => {
    const sum = pattern.length > MAX_RULE_BYTES ? Number.POSITIVE_INFINITY : cost + costOf(pattern);
    if (sum <= MAX_COST) cost = sum;
    return sum <= MAX_COST;
  });
  const refused = all.length - patterns.length;
  return { rules: patterns.length === 0 ? rules : withPatterns(rules, patterns, cost), refused };
}

/** `rules` and then the patterns, which are those of the top. */
export function withPatterns(rules: IgnoreRules, patterns: readonly string[], cost = rules.cost): IgnoreRules {
  const added = patterns.map((pattern) => ({ pattern }));
  const id = hash("sha256", JSON.stringify([rules.id, ...patterns]));
  return { top: rules.top, cost, id, matcher: ignore(OPTIONS).add(rules.matcher).add(added) };
}

/** True if the rules exclude the path (relative to the top) or a folder that it is in. */
export function isIgnoredName(rules: IgnoreRules, name: string, isFolder: boolean): boolean {
  if (rules.cost === 0) return false;
  return rules.matcher.ignores(bytesAsText(Buffer.from(isFolder ? `${name}/` : name)));
}

/**
 * The lines of a rule file of `folder` (relative to the top, "" for the top itself) as patterns of
 * the top: one list of rules decides as git does: a later rule of a nested file can re-include what
 * an earlier one excludes.
 */
function patternsOf(text: string, folder: string): string[] {
  const patterns: string[] = [];
  for (const line of text.replace(/^\xef\xbb\xbf/, "").split("\n")) {
    if (line.startsWith("#")) continue;
    const negative = line.startsWith("!");
    const body = withoutTrailingSpaces(line.slice(negative ? 1 : 0).replace(/\r$/, ""));
    if (!/^\/*$/.test(body)) patterns.push(`${negative ? "!" : ""}${moved(body, folder)}`);
  }
  return patterns;
}

function costOf(pattern: string): number {
  const globstars = pattern.split("/").filter((name) => /^!?\*{2,}$/.test(name)).length;
  return Math.max(1, COST_PER_GLOBSTAR ** (globstars - 1));
}

function moved(body: string, folder: string): string {
  if (folder === "") return body;
  const isAnchored = body.slice(0, -1).includes("/");
  if (isAnchored) return `/${literal(folder)}/${body.replace(/^\//, "")}`;
  return `/${literal(folder)}/**/${body}`;
}

/**
 * The line without the spaces at its end. One that a backslash stands before belongs to the
 * pattern.
 */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end -= 1;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === "\\") backslashes += 1;
  return line.slice(0, backslashes % 2 === 1 ? end + 1 : end);
}

/** A path as a pattern that matches it alone. */
export function literal(path: string): string {
  return path.replace(/[\\*?[]/g, "\\$&");
}

/** Bytes as text with a unit for each byte. */
export function bytesAsText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

/**
 * Names of files that hold keys or passwords, and of folders that hold such files, in lower case.
 */
const FILES =
  /^(?:\.env(?:\.(?!example$|sample$|template$|dist$).+)?|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|key)|\.npmrc|\.netrc|_netrc|\.pgpass|\.git-credentials)$/;
const FOLDERS = new Set([".aws", ".ssh", ".gnupg"]);

/**
 * Settings of coding agents that a project keeps at its top: they name MCP servers, often with
 * their tokens.
 */
const AGENT_FILES =
  /^(?:\.?mcp\.jsonc?|(?:\w+[-_])?mcp[-_](?:config|settings|servers)\.jsonc?|\.?(?:opencode|kilo|crush)\.jsonc?|\.claude\.json|\.aider\.conf\.ya?ml)$/;
/**
 * Folders of coding agents. Their instructions are Markdown and may be read, and their settings may
 * not.
 */
const AGENT_FOLDERS = new Set([
  ...[".amazonq", ".augment", ".claude", ".cline", ".codeium", ".codex", ".continue", ".copilot", ".crush", ".cursor"],
  ...[".factory", ".gemini", ".goose", ".junie", ".kilo", ".kilocode", ".kiro", ".opencode", ".pi", ".qwen", ".roo"],
  ...[".trae", ".windsurf", ".zed"],
]);
const AGENT_SETTINGS = /\.(?:json[c5]?|toml|ya?ml)$/;

/** The reason why a load leaves such a file out. */
export const MAY_BE_SECRET = "may contain secrets";

/**
 * True if a file or folder of this path (with `/`), packed or not, holds keys or passwords by its
 * name.
 */
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
