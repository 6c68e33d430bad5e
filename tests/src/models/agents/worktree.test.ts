import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { dropRuns, forgetRun } from "../../../../src/models/agents/index.ts";
import { ask, killAgent, killKeeper, openPlace, type Place, started, startsOf, told, until } from "./support.ts";

const AUTHOR = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"];
const git = (cwd: string, ...words: readonly string[]) =>
  execFileSync("git", [...AUTHOR, ...words], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

/** A repository with one commit in the folder of a place. */
function repositoryIn(place: Place): string {
  const folder = join(place.path, "repository");
  mkdirSync(join(folder, "sub"), { recursive: true });
  git(folder, "init", "-q", "-b", "main");
  writeFileSync(join(folder, "sub/a.txt"), "one\n");
  git(folder, "add", ".");
  git(folder, "commit", "-q", "-m", "one");
  return folder;
}

const treesOf = (repository: string) =>
  git(repository, "worktree", "list", "--porcelain").match(/^worktree /gm)?.length;

test("an agent edits a worktree of its own: one with changes stays, one without goes", async () => {
  const place = openPlace();
  const repository = repositoryIn(place);
  const cwd = join(repository, "sub");
  const edits = { runs: "echo two > a.txt && echo new > b.txt", says: "edited" };
  expect(told(await ask(place, edits, { cwd, worktree: true }))).toBe("edited");
  expect(told(await ask(place, { runs: "pwd > /dev/null" }, { id: "1.2", cwd, worktree: true }))).toBe("done");
  expect(
    told(
      await ask(
        place,
        { runs: "git -c user.name=a -c user.email=b commit -qm two --allow-empty" },
        { id: "1.3", cwd, worktree: true },
      ),
    ),
  ).toBe("done");
  expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("one\n");
  expect(readFileSync(join(place.outbox(), "tree/sub/a.txt"), "utf8")).toBe("two\n");
  for (const id of ["1.1", "1.2", "1.3"]) forgetRun(place.outbox(id));
  expect(readdirSync(place.outbox()).toSorted()).toEqual(["tree", "tree.git"]);
  expect(readdirSync(place.outboxes).toSorted()).toEqual(["1.1", "1.3"]);
  await dropRuns(place.outboxes, place.session);
  expect(treesOf(repository)).toBe(1);
});

test("a worktree with changes is not used for the next start", async () => {
  const place = openPlace();
  const cwd = repositoryIn(place);
  const answer = ask(place, { runs: "echo two > sub/a.txt", hangs: true }, { cwd, worktree: true, mostTries: 2 });
  const changed = join(place.outbox(), "tree/sub/a.txt");
  await until(() => existsSync(changed) && readFileSync(changed, "utf8") === "two\n");
  await killKeeper(place);
  await killAgent(place);
  await started(place, 2);
  expect(readFileSync(changed, "utf8")).toBe("two\n");
  expect(existsSync(join(place.outbox(), "tree.2/sub/a.txt"))).toBe(true);
  await killAgent(place);
  expect(told(await answer)).toBe("sub_agent_error");
});

test.each([
  ["no repository", (place: Place) => place.path, / is not in a git repository$/],
  [
    "no commit yet",
    (place: Place) => {
      git(place.path, "init", "-q");
      return place.path;
    },
    / it has no commit yet$/,
  ],
] as const)("a worktree of a folder that has %s is refused by name", async (_what, folderOf, message) => {
  const place = openPlace();
  expect(await ask(place, { says: "no" }, { cwd: folderOf(place), worktree: true })).toMatchObject({
    ok: false,
    ends: "job",
    error: {
      code: "no_model_configured",
      message: expect.stringMatching(message),
      suggestion: "Run it in a git repository that has a commit, or leave out isolation.",
    },
  });
  expect(startsOf(place)).toEqual({});
});

test("neither hooks nor monitors of a repository run, and a moved git folder is not followed", async () => {
  const place = openPlace();
  const cwd = repositoryIn(place);
  const seen = join(place.path, "seen");
  const hook = join(cwd, ".git/hooks/post-checkout");
  writeFileSync(hook, `#!/bin/sh\necho hook >> ${seen}\n`);
  const monitor = join(place.path, "monitor");
  writeFileSync(monitor, `#!/bin/sh\necho monitor >> ${seen}\n`);
  for (const program of [hook, monitor]) chmodSync(program, 0o755);
  git(cwd, "config", "core.fsmonitor", monitor);
  const other = join(place.path, "other");
  mkdirSync(other);
  git(other, "init", "-q");
  git(other, "config", "core.fsmonitor", monitor);
  const moves = `echo "gitdir: ${other}/.git" > .git`;
  expect(told(await ask(place, { runs: moves, says: "moved" }, { cwd, worktree: true }))).toBe("moved");
  expect(existsSync(seen)).toBe(false);
});

test("a repository with a submodule has worktrees", async () => {
  const place = openPlace();
  const cwd = repositoryIn(place);
  const inner = join(place.path, "inner");
  mkdirSync(inner);
  git(inner, "init", "-q", "-b", "main");
  git(inner, "commit", "-q", "--allow-empty", "-m", "inner");
  git(cwd, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner");
  git(cwd, "commit", "-q", "-m", "submodule");
  expect(told(await ask(place, { says: "done" }, { cwd, worktree: true }))).toBe("done");
  forgetRun(place.outbox());
  expect([existsSync(place.outbox()), treesOf(cwd)]).toEqual([false, 1]);
});

test("4 worktrees are made at once", async () => {
  const place = openPlace();
  const cwd = repositoryIn(place);
  const ids = Array.from({ length: 4 }, (_, index) => `1.${index}`);
  const print = 'require("fs").writeFileSync("new.txt", ""); console.log("done")';
  const command = { command: [process.execPath, "-e", print] };
  const answers = await Promise.all(ids.map((id) => ask(place, "", { id, cwd, worktree: true, command })));
  expect(answers.filter(({ ok }) => !ok)).toEqual([]);
  expect(treesOf(cwd)).toBe(5);
  await dropRuns(place.outboxes, place.session);
  expect(treesOf(cwd)).toBe(1);
});

test("a keeper that is killed before it has started the agent is replaced", async () => {
  const place = openPlace();
  const cwd = repositoryIn(place);
  // The first call of this git does not end.
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const slow = join(place.path, "bin");
  mkdirSync(slow);
  const mark = join(place.path, "called");
  writeFileSync(
    join(slow, "git"),
    `#!/bin/sh\n[ -e ${mark} ] || { touch ${mark}; exec sleep 20; }\nexec ${real} "$@"\n`,
  );
  chmodSync(join(slow, "git"), 0o755);
  vi.stubEnv("PATH", `${slow}:${process.env.PATH}`);
  const answer = ask(place, { says: "done" }, { cwd, worktree: true });
  await until(() => existsSync(mark));
  await killKeeper(place);
  expect(told(await answer)).toBe("done");
  expect(startsOf(place)).toEqual({ "1.1": 1 });
});
