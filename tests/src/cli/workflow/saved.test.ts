import { expect, test } from "vitest";
import { json } from "../belay.ts";
import { META, scene } from "./scene.ts";

const script = (name: string, result = name) => `${META.replace('"audit"', `"${name}"`)}\nreturn "${result}";`;

const TREE = {
  "home/workflows/mine.js": script("mine"),
  "home/workflows/bad.js": "no meta",
  "user/.claude/workflows/both.js": script("both", "of the user"),
  "work/.claude/workflows/both.js": script("both", "of the project"),
  "work/.belay/workflows/theirs.js": script("theirs"),
};

test("without a script the saved ones are listed, with their authors, trust and what was left out", async () => {
  const { workflow, work } = await scene(TREE);
  const { code, stdout, stderr } = await workflow();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^mine +you +looks at files /m);
  expect(stdout).toMatch(/^both +you /m);
  expect(stdout).toMatch(/^theirs +the project, not trusted /m);
  expect(stderr).toContain("home/workflows/bad.js is left out: ");
  expect(stderr).toContain(`${work}/.claude/workflows/both.js is left out: `);
  expect(stderr).toContain("belay workflow theirs --trust");
  const { workflows } = json(await workflow("--json"));
  expect(workflows.find(({ name }: { readonly name: string }) => name === "theirs")).toMatchObject({
    of: "project",
    trusted: false,
    description: "looks at files",
    problem: null,
  });
});

test("a project's workflow runs by its name once its text is trusted, and not after a change", async () => {
  const { workflow, edit } = await scene(TREE);
  expect((await workflow("mine")).stdout).toBe("mine\n");
  expect((await workflow("both")).stdout).toBe("of the user\n");
  const refused = await workflow("theirs");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("you have not trusted its text")]);
  expect(refused.stderr).toContain("(policy_violation)");
  expect((await workflow("theirs", "--trust")).stdout).toBe("theirs\n");
  expect((await workflow("theirs")).stderr).toContain("has ended");
  expect((await workflow()).stdout).toContain("the project, trusted");
  edit(script("theirs", "changed"), ".belay/workflows/theirs.js");
  expect((await workflow("theirs")).code).toBe(1);
  // A file that the user names runs, and an earlier run of it had another text.
  expect((await workflow(".belay/workflows/theirs.js", "--new")).stdout).toBe("changed\n");
});
