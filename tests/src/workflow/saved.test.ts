import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  refuseUntrusted,
  savedWorkflow,
  savedWorkflows,
  trustWorkflow,
  type WorkflowPlaces,
  workflowAt,
} from "../../../src/workflow/index.ts";
import { refusalOf } from "../../support/refusal.ts";
import { folderWith } from "../../support/tree.ts";

const script = (name: string, rest = "") =>
  `export const meta = { name: "${name}", description: "does ${name}" };\n${rest}`;

/** A home and a repository with a folder below its top, in which the user works. */
function places(files: Readonly<Record<string, string>> = {}): WorkflowPlaces & { readonly root: string } {
  const root = folderWith({ "repo/.git/HEAD": "", "repo/sub/a.ts": "", "home/.belay/config.json": "{}", ...files });
  const home = join(root, "home");
  return { root, home, belayHome: join(home, ".belay"), cwd: join(root, "repo/sub") };
}

test("the user's count before the project's, and the nearest of a project first", () => {
  const at = places({
    "home/.belay/workflows/one.js": script("a"),
    "home/.claude/workflows/two.mjs": script("b"),
    "repo/sub/.belay/workflows/three.ts": script("c", "const x: number = 1;"),
    "repo/sub/.claude/workflows/four.js": script("a"),
    "repo/.claude/workflows/five.js": script("c"),
    "repo/.claude/workflows/six.mts": script("d"),
    "repo/.claude/workflows/notes.md": "none",
    ".claude/workflows/above.js": script("e"),
  });
  const listed = savedWorkflows(at).map(({ name, of, file, isTrusted, hides }) => {
    const short = (path: string) => path.slice(at.root.length + 1);
    return [name, of, short(file), isTrusted, hides.map(short)];
  });
  expect(listed).toEqual([
    ["a", "user", "home/.belay/workflows/one.js", true, ["repo/sub/.claude/workflows/four.js"]],
    ["b", "user", "home/.claude/workflows/two.mjs", true, []],
    ["c", "project", "repo/sub/.belay/workflows/three.ts", false, ["repo/.claude/workflows/five.js"]],
    ["d", "project", "repo/.claude/workflows/six.mts", false, []],
  ]);
});

test("without a repository only the working directory's own count", () => {
  const root = folderWith({ ".claude/workflows/above.js": script("e"), "work/.claude/workflows/here.js": script("f") });
  const at = { home: join(root, "none"), belayHome: join(root, "nothing"), cwd: join(root, "work") };
  expect(savedWorkflows(at).map(({ name }) => name)).toEqual(["f"]);
});

test("one that cannot be read is listed with its problem", () => {
  const at = places({
    "repo/.claude/workflows/bad.js": "export const meta = 1;",
    "repo/.claude/workflows/large.js": `${script("large")}//${"x".repeat(300 * 1024)}`,
  });
  const [bad, large] = savedWorkflows(at);
  expect(bad).toMatchObject({
    name: "bad",
    script: null,
    problem: expect.stringContaining("bad.js:1:14: meta must be an object"),
  });
  expect(large).toMatchObject({
    name: "large",
    script: null,
    problem: expect.stringContaining("has more than 256 KB"),
  });
  expect(refusalOf(() => savedWorkflow(at, "bad")).message).toContain("bad.js:1:14");
});

test("a name that is not saved is refused with what is", () => {
  const at = places({ "repo/.belay/workflows/audit.js": script("audit") });
  const { code, message, suggestion } = refusalOf(() => savedWorkflow(at, "audti"));
  expect(code).toBe("invalid_argument");
  expect(message).toContain("the workflow audti is not saved");
  expect(message).toContain("audit");
  expect(suggestion).toBe("Saved workflows are audit.");
  expect(refusalOf(() => savedWorkflow(places(), "x")).suggestion).toContain(
    "None is saved in .belay/workflows or .claude/workflows",
  );
});

test("a symlink of a project is not followed, and the user's own is", () => {
  const at = places({ "secret/s.js": script("secret"), "own/o.js": script("own"), "repo/.claude/a": "" });
  const link = (target: string, path: string) => {
    mkdirSync(join(at.root, dirname(path)), { recursive: true });
    symlinkSync(join(at.root, target), join(at.root, path));
  };
  link("secret", "repo/.claude/workflows");
  link("secret", "repo/sub/.belay");
  link("secret/s.js", "repo/sub/.claude/workflows/s.js");
  link("own", "home/.claude/workflows");
  const found = savedWorkflows(at);
  expect(found.filter(({ script: read }) => read).map(({ name }) => name)).toEqual(["own"]);
  expect(found.map(({ problem }) => problem).filter((problem) => problem?.includes("symlink"))).toHaveLength(2);
});

test("a project's text has to be trusted, and again if it changed; its copy elsewhere is trusted", () => {
  const file = "repo/.claude/workflows/p.js";
  const at = places({ [file]: script("p") });
  const found = savedWorkflow(at, "p");
  const { code, message, suggestion } = refusalOf(() => refuseUntrusted(found));
  expect(code).toBe("policy_violation");
  expect(message).toBe(
    `the workflow p came with the project, and you have not trusted its text: ${join(at.root, file)}`,
  );
  expect(suggestion).toContain(`trust the text of \`${join(at.root, file)}\``);
  trustWorkflow(at, found);
  trustWorkflow(at, savedWorkflow(at, "p"));
  refuseUntrusted(savedWorkflow(at, "p"));
  refuseUntrusted(workflowAt(at, "../.claude/workflows/p.js"));
  appendFileSync(join(at.root, file), "// and more\n");
  expect(refusalOf(() => refuseUntrusted(savedWorkflow(at, "p"))).code).toBe("policy_violation");
  trustWorkflow(at, savedWorkflow(at, "p"));
  refuseUntrusted(savedWorkflow(at, "p"));
});

test("a list of trusted ones that cannot be read trusts nothing, and says so", () => {
  const at = places({ "repo/.claude/workflows/p.js": script("p") });
  writeFileSync(join(at.belayHome, "trusted-workflows"), "x".repeat(2 ** 20 + 1));
  const found = savedWorkflow(at, "p");
  expect(found.isTrusted).toBe(false);
  const { code, message } = refusalOf(() => trustWorkflow(at, found));
  expect(code).toBe("invalid_config");
  expect(message).toContain("trusted-workflows has more than 1024 KB");
});

test("a file is named as the user wrote it, and a missing one is refused", () => {
  const at = places({ "repo/sub/bad.js": "1" });
  expect(refusalOf(() => workflowAt(at, "bad.js")).message).toMatch(/^bad\.js: the first statement/);
  expect(refusalOf(() => workflowAt(at, "none.js")).message).toContain("none.js does not exist");
});
