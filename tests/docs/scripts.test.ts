import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "../../scripts/process.ts";

/** Is a part of `check`, asks npm's registry for packages, or takes minutes: it is run before a commit or a release. */
const BY_HAND = "by hand";

/** By script: the test that runs it in its smallest form, and what of it that test names. */
const SMALLEST: Readonly<Record<string, readonly [file: string, names: string] | typeof BY_HAND>> = {
  demo: ["tests/e2e/examples.test.ts", "examples"],
  test: ["vitest.config.ts", "tests/**/*.test.ts"],
  "test:unit": ["vitest.config.ts", 'name: "units"'],
  check: ["vitest.config.ts", "tests/**/*.test.ts"],
  lint: BY_HAND,
  types: ["tests/docs/editor-types.test.ts", "tsc"],
  knip: BY_HAND,
  fix: BY_HAND,
  house: ["tests/docs/house.test.ts", "scripts/house.ts"],
  build: ["tests/support/command.ts", "scripts/bundle.ts"],
  prepack: ["tests/e2e/pack.test.ts", "packWithoutTypes"],
  docs: ["tests/docs/generated.test.ts", "scripts/docs"],
  "docs:pictures": ["tests/scripts/view-pictures.test.ts", "scripts/view-pictures.ts"],
  bench: ["tests/e2e/bench.test.ts", "bench/run.ts"],
  attack: ["tests/attacks.test.ts", "campaigns/attack/run.ts"],
  crash: ["tests/e2e/crash.test.ts", "campaigns/crash"],
  replies: ["tests/replies.test.ts", "campaigns/replies/play.ts"],
  "batch-campaign": ["tests/e2e/batch-campaign.test.ts", "campaigns/batch/campaign.ts"],
  corrupt: ["tests/src/store/corruption.test.ts", "campaigns/corrupt"],
  fuzz: ["tests/fuzz.test.ts", "campaigns/fuzz/fuzz.ts"],
  "pi-campaign": ["tests/e2e/pi-bytes.test.ts", "campaigns/pi/"],
  "pi-long": ["tests/e2e/pi-outside.test.ts", "campaigns/pi/long.ts"],
  "read-cache": ["tests/src/pi/read-cache/property.test.ts", "read-cache/histories"],
  soak: ["tests/e2e/soak.test.ts", "campaigns/soak/soak.ts"],
  memory: ["tests/e2e/memory.test.ts", "campaigns/attack/memory.ts"],
  "store-sessions": ["tests/runtime/images/image-compat.test.ts", "store-sessions"],
  "check:package": ["tests/e2e/pack.test.ts", "packWithoutTypes"],
  "check:pi-lines": ["tests/support/pi/process.ts", "BELAY_ALL_PI_LINES"],
  "check:view": ["tests/e2e/view-page.test.ts", "CHROMIUM"],
  "check:floor": BY_HAND,
  "check:pi": BY_HAND,
  "check:inspector": BY_HAND,
  "check:agents": BY_HAND,
  "check:hosts": BY_HAND,
  "check:postgres": BY_HAND,
  "check:servers": BY_HAND,
  release: BY_HAND,
};

test("each script of package.json has a smallest form that the tests run, or is run by hand", () => {
  expect(Object.keys(packageJson.scripts).filter((name) => !Object.hasOwn(SMALLEST, name))).toEqual([]);
  const wrong = Object.entries(SMALLEST).filter(
    ([, at]) => at !== BY_HAND && !readFileSync(join(ROOT, at[0]), "utf8").includes(at[1]),
  );
  expect(wrong).toEqual([]);
});

test("each script of package.json starts a file that is there", () => {
  const files = Object.values(packageJson.scripts).flatMap(
    (line) => line.match(/\b(?:bench|campaigns|scripts|src)\/\S+\.ts/g) ?? [],
  );
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) expect(readFileSync(join(ROOT, file), "utf8"), file).not.toBe("");
});
