import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import ignore, { type Ignore } from "ignore";
import { type Refusal, withFile } from "./roots.ts";

/** The ignore rules that hold in a folder. Patterns and paths are compared as UTF-8 bytes, as git does. */
export interface IgnoreRules {
  /** Folder that paths are matched relative to: the repository's top, or the loaded folder outside of one. */
  readonly top: string;
  readonly matcher: Ignore;
  /** Bound of the time to match one path, in units of a rule without globstars. */
  readonly cost: number;
}

/** Told of a rule file (absolute path) that was not applied, or not fully, and why. */
export type Report = (file: string, reason: string) => void;

const OPTIONS = { ignorecase: false, allowRelativePaths: true };

/** A larger rule file is reported, not applied. */
const MAX_RULE_FILE_BYTES = 256 * 1024;
/**
 * A hostile rule file must not keep the loader busy. Matching a path of depth d against a rule with k globstars takes
 * up to d^k / k! steps; at a depth of 128, rules of this total cost take about 0.15 s for a path that was made for it.
 * Rules beyond it are reported, not applied: with four globstars any, with three from about the 40th on.
 */
const MAX_COST = 100_000;
const COST_PER_GLOBSTAR = 50;

/**
 * Rules that hold in `folder` (absolute, symlink-free) because of what lies above it: `.git/info/exclude` and the
 * .gitignore files from the repository's top to the parent of `folder`. They never ignore `folder` itself: who
 * names a folder wants it loaded. Outside of a repository there are none.
 */
export function rulesAbove(folder: string, report: Report): IgnoreRules {
  const above: string[] = [];
  for (let top = folder; ; top = dirname(top)) {
    if (top !== folder) above.unshift(top);
    if (isRepository(top)) break;
    if (dirname(top) === top) return noRules(folder);
  }
  const top = above[0];
  if (top === undefined) return noRules(folder);
  const outer = above.reduce(
    (rules, at) => withRuleFile(rules, at, join(at, ".gitignore"), report),
    topRules(top, top, report),
  );
  const names = pathIn(outer, folder).split("/");
  const reincluded = names.map((_, depth) => ({ pattern: `!/${literal(names.slice(0, depth + 1).join("/"))}/` }));
  return { ...outer, matcher: ignore(OPTIONS).add(outer.matcher).add(reincluded) };
}

/** Rules of the repository whose top is `path`, reached as `top`, apart from its .gitignore: those of the folder above end here. */
export function topRules(top: string, path: string, report: Report): IgnoreRules {
  return withRuleFile(noRules(top), top, join(path, ".git", "info", "exclude"), report);
}

/** `rules` and then those in `file`, which hold from `folder` down. A symlink is not followed, as in git. */
export function withRuleFile(rules: IgnoreRules, folder: string, file: string, report: Report): IgnoreRules {
  const content = withFile<Uint8Array | Refusal>([file], file, ({ size, read }) =>
    size > MAX_RULE_FILE_BYTES ? { reason: `larger than ${MAX_RULE_FILE_BYTES / 1024} KB` } : read(size),
  );
  if ("reason" in content) {
    const isAbsent = content.errno === "ENOENT" || content.errno === "ENOTDIR";
    const reason = content.errno === "ELOOP" ? "it is a symlink" : content.reason;
    if (!isAbsent) report(file, `its rules are not applied: ${reason}`);
    return rules;
  }
  let { cost } = rules;
  const all = patternsOf(bytesAsText(content), pathIn(rules, folder));
  const patterns = all.filter((pattern) => {
    const sum = cost + costOf(pattern);
    if (sum <= MAX_COST) cost = sum;
    return sum <= MAX_COST;
  });
  const refused = all.length - patterns.length;
  if (refused > 0) report(file, `${refused} of its rules are not applied: matching them could take too long`);
  if (patterns.length === 0) return rules;
  const matcher = ignore(OPTIONS).add(rules.matcher);
  return { top: rules.top, cost, matcher: matcher.add(patterns.map((pattern) => ({ pattern }))) };
}

/** True if the rules exclude `path` (absolute, below `top`) or a folder that it is in. */
export function isIgnored(rules: IgnoreRules, path: string, isFolder: boolean): boolean {
  if (rules.cost === 0) return false;
  return rules.matcher.ignores(isFolder ? `${pathIn(rules, path)}/` : pathIn(rules, path));
}

/** The rules that hold if there are none, for paths below `top`. */
function noRules(top: string): IgnoreRules {
  return { top, matcher: ignore(OPTIONS), cost: 0 };
}

function isRepository(folder: string): boolean {
  return lstatSync(join(folder, ".git"), { throwIfNoEntry: false }) !== undefined;
}

/**
 * The lines of a rule file of `folder` (relative to the top, "" for the top itself) as patterns of the top: one
 * list of rules decides as git does: a later rule of a nested file can re-include what an earlier one excludes.
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

function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " " && !/(?:^|[^\\])(?:\\\\)*\\$/.test(line.slice(0, end - 1))) end -= 1;
  return line.slice(0, end);
}

function literal(path: string): string {
  return path.replace(/[\\*?[]/g, "\\$&");
}

function pathIn(rules: IgnoreRules, path: string): string {
  return bytesAsText(Buffer.from(path.slice(rules.top.length).replace(/^\//, "")));
}

function bytesAsText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
