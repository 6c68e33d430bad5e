import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "../../scripts/process.ts";

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8");

/** Is a part of `check`, asks npm's registry for packages, or takes minutes: it is run before a commit or a release. */
const BY_HAND = "by hand";

/** By script: the test that runs it in its smallest form, and what of it that test names. */
const SMALLEST: Readonly<Record<string, readonly [file: string, names: string] | typeof BY_HAND>> = {
  demo: ["tests/e2e/examples.test.ts", "examples"],
  test: ["vitest.config.ts", "tests/**/*.test.ts"],
  check: ["vitest.config.ts", "tests/**/*.test.ts"],
  "check:fast": ["tests/scripts/check-fast.test.ts", "scripts/check-fast.ts"],
  lint: BY_HAND,
  types: ["tests/docs/editor-types.test.ts", "tsc"],
  fix: BY_HAND,
  house: ["tests/docs/house.test.ts", "scripts/house.ts"],
  build: ["tests/support/command.ts", "scripts/bundle.ts"],
  prepack: ["tests/e2e/pack.test.ts", "packWithoutTypes"],
  docs: ["tests/docs/generated.test.ts", "scripts/docs"],
  bench: ["tests/e2e/bench.test.ts", "bench/run.ts"],
  campaign: ["tests/scripts/named.test.ts", "scripts/named.ts"],
  verify: ["tests/scripts/named.test.ts", "scripts/named.ts"],
  release: BY_HAND,
};

test("each script of package.json has a smallest form that the tests run, or is run by hand", () => {
  expect(Object.keys(packageJson.scripts).filter((name) => !Object.hasOwn(SMALLEST, name))).toEqual([]);
  const wrong = Object.entries(SMALLEST).filter(([, at]) => at !== BY_HAND && !textOf(at[0]).includes(at[1]));
  expect(wrong).toEqual([]);
});

/** By campaign: the test that runs it in its smallest form, and what of it that test names. */
const CAMPAIGNS: Readonly<Record<string, readonly [file: string, names: string]>> = {
  attack: ["tests/attacks.test.ts", "campaigns/attack/run.ts"],
  crash: ["tests/e2e/crash.test.ts", "campaigns/crash"],
  replies: ["tests/replies.test.ts", "campaigns/replies/play.ts"],
  batch: ["tests/e2e/batch-campaign.test.ts", "campaigns/batch/campaign.ts"],
  corrupt: ["tests/src/store/corruption.test.ts", "campaigns/corrupt"],
  fuzz: ["tests/fuzz.test.ts", "campaigns/fuzz/fuzz.ts"],
  pi: ["tests/e2e/pi-bytes.test.ts", "campaigns/pi/"],
  "pi-long": ["tests/e2e/pi-outside.test.ts", "campaigns/pi/long.ts"],
  "read-cache": ["tests/src/pi/read-cache/property.test.ts", "read-cache/histories"],
  soak: ["tests/e2e/soak.test.ts", "campaigns/soak/soak.ts"],
  large: ["tests/e2e/large-campaign.test.ts", "campaigns/large"],
  workflow: ["tests/e2e/workflow-campaign.test.ts", "campaigns/workflow"],
  memory: ["tests/e2e/memory.test.ts", "campaigns/attack/memory.ts"],
};

test("each campaign has a smallest form that the tests run", () => {
  const files = globSync("campaigns/*.ts", { cwd: ROOT }).map((file) => basename(file, ".ts"));
  const none = ["index", "arguments"];
  expect(files.filter((name) => !none.includes(name)).sort()).toEqual(Object.keys(CAMPAIGNS).sort());
  const wrong = Object.entries(CAMPAIGNS).filter(([, [file, names]]) => !textOf(file).includes(names));
  expect(wrong).toEqual([]);
});

test("each script of package.json starts a file that is there", () => {
  const files = Object.values(packageJson.scripts).flatMap(
    (line) => line.match(/\b(?:bench|campaigns|scripts|src)\/\S+\.ts/g) ?? [],
  );
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) expect(readFileSync(join(ROOT, file), "utf8"), file).not.toBe("");
});
