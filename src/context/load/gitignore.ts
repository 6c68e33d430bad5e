import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  bytesAsText,
  type IgnoreRules,
  isIgnoredName,
  literal,
  MAX_RULE_FILE_BYTES,
  noRules,
  refusedRules,
  withPatterns,
  withRuleText,
} from "./ignore-rules.ts";
import { type Refusal, withFile } from "./roots.ts";

/** Told of a rule file (absolute path) that was not applied, or not fully, and why. */
export type Report = (file: string, reason: string) => void;

/**
 * Rules that hold in `folder` (absolute, symlink-free) because of what lies above it:
 * `.git/info/exclude` and the .gitignore files from the repository's top to the parent of `folder`.
 * They never ignore `folder` itself: who names a folder wants it loaded. Outside of a repository
 * there are none.
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
  const names = bytesAsText(Buffer.from(pathIn(outer, folder))).split("/");
  return withPatterns(
    outer,
    names.map((_, depth) => `!/${literal(names.slice(0, depth + 1).join("/"))}/`),
  );
}

/**
 * Rules of the repository whose top is `path`, reached as `top`, apart from its .gitignore: those
 * of the folder above end here.
 */
export function topRules(top: string, path: string, report: Report): IgnoreRules {
  return withRuleFile(noRules(top), top, join(path, ".git", "info", "exclude"), report);
}

/**
 * `rules` and then those in `file`, which hold from `folder` down. A symlink is not followed, as in
 * git.
 */
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
  const { rules: extended, refused } = withRuleText(rules, pathIn(rules, folder), content);
  if (refused > 0) report(file, refusedRules(refused));
  return extended;
}

/** True if the rules exclude `path` (absolute, below `top`) or a folder that it is in. */
export function isIgnored(rules: IgnoreRules, path: string, isFolder: boolean): boolean {
  return rules.cost > 0 && isIgnoredName(rules, pathIn(rules, path), isFolder);
}

/** True if the folder (absolute) is the top of a git repository. What may not be looked into is none. */
export function isRepository(folder: string): boolean {
  try {
    return lstatSync(join(folder, ".git"), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function pathIn(rules: IgnoreRules, path: string): string {
  return path.slice(rules.top.length).replace(/^\//, "");
}
