import { execFile } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { promisify } from "node:util";
import { messageOf } from "../../platform/errors.ts";
import { readFrom, writeWhole } from "./outbox.ts";

const run = promisify(execFile);

type Variables = Readonly<Record<string, string>>;

/** The origin of a worktree, in a file beside it: the agent may change the one that git has in it. */
interface Origin {
  /** The git folder of the repository, and the part of it that is the worktree's. */
  readonly repository: string;
  readonly own: string;
  /** The commit that it began with. */
  readonly commit: string;
}

/** Neither hooks nor monitors of a repository run: nobody has asked for them. */
const PLAIN = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

async function git(env: Variables, ...words: readonly string[]): Promise<string> {
  const own = { ...env, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
  const { stdout } = await run("git", [...PLAIN, ...words], { maxBuffer: 2 ** 24, env: own });
  return stdout.trim();
}

/**
 * Makes a worktree of the repository of a folder, at its commit.
 *
 * @returns the folder in the worktree that `cwd` is in the repository
 * @throws Error if the folder is not in a repository with a commit
 */
export async function makeWorktree(cwd: string, tree: string, env: Variables): Promise<string> {
  const [top = "", repository = ""] = await repositoryOf(cwd, env);
  const commit = await git(env, "-C", cwd, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").catch(() => {
    throw new Error(`a worktree of ${top} cannot be made: it has no commit yet`);
  });
  await dropTree(tree, repository, env);
  for (let tries = 0; ; tries++) {
    try {
      await git(env, "-C", cwd, "worktree", "add", "--detach", "--force", tree, commit);
      break;
    } catch (error) {
      // Others add theirs at the same time, and git reads what is half made.
      if (tries === 7 || !/lock|exists|\/worktrees\//.test(wordsOf(error))) {
        await dropTree(tree, repository, env);
        throw new Error(`a worktree of ${top} cannot be made: ${wordsOf(error)}`);
      }
      rmSync(tree, { recursive: true, force: true });
      await later(50 * 2 ** tries * (1 + Math.random()));
    }
  }
  const own = await git(env, "-C", tree, "rev-parse", "--absolute-git-dir");
  const origin: Origin = { repository, own, commit };
  writeWhole(dirname(tree), originFile(tree), JSON.stringify(origin));
  const folder = join(tree, relative(top, cwd));
  // The folder may have nothing that is in the commit.
  mkdirSync(folder, { recursive: true });
  return folder;
}

const originFile = (tree: string) => `${basename(tree)}.git`;

async function repositoryOf(cwd: string, env: Variables): Promise<readonly string[]> {
  const asked = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"];
  try {
    return (await git(env, "-C", cwd, ...asked)).split("\n");
  } catch (error) {
    const said = wordsOf(error);
    if (/ENOENT/.test(said)) throw new Error("a worktree cannot be made: git is not installed");
    if (!/not a git repository/.test(said)) throw new Error(`a worktree of ${cwd} cannot be made: ${said}`);
    throw new Error(`a worktree cannot be made: ${cwd} is not in a git repository`);
  }
}

/** The last words of git's failure. */
function wordsOf(error: unknown): string {
  const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
  return (said || messageOf(error)).slice(-300);
}

/**
 * Removes a worktree in which nothing was changed. It stays if that cannot be found out, or if its
 * origin is not a worktree of the repository of `cwd`: git runs programs that a repository names.
 */
export async function settleWorktree(tree: string, cwd: string, env: Variables): Promise<void> {
  const origin = readFrom<Origin>(dirname(tree), originFile(tree));
  const [, repository = ""] = await repositoryOf(cwd, env).catch(() => []);
  if (origin?.repository !== repository || dirname(origin.own) !== join(repository, "worktrees")) return;
  if (await isUnchanged(tree, origin, env)) await dropWorktree(tree, env);
}

async function isUnchanged(tree: string, { own, commit }: Origin, env: Variables): Promise<boolean> {
  const at = ["--git-dir", own, "--work-tree", tree];
  try {
    const head = await git(env, ...at, "rev-parse", "HEAD");
    return head === commit && (await git(env, "-C", tree, ...at, "status", "--porcelain")) === "";
  } catch {
    return false;
  }
}

/** Removes a worktree and what its repository has of it, whatever is in it. */
export async function dropWorktree(tree: string, env: Variables): Promise<void> {
  const origin = readFrom<Origin>(dirname(tree), originFile(tree));
  await dropTree(tree, origin?.repository ?? null, env);
  rmSync(join(dirname(tree), originFile(tree)), { force: true });
}

async function dropTree(tree: string, repository: string | null, env: Variables): Promise<void> {
  rmSync(tree, { recursive: true, force: true });
  if (repository !== null) await git(env, "--git-dir", repository, "worktree", "prune").catch(() => {});
}
