import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { endOf, listModels } from "../../src/models/index.ts";
import { PROVIDERS } from "../../src/models/keys/keys.ts";

/** The table of models that end. */
const ENDS = "src/models/model-ends.ts";

// Models that pages, help, errors, examples and printed entries name can be asked.

const TEXTS = ["README.md", ...globSync(["docs/**/*.md", "examples/**/*.*", "src/**/*.ts"], { cwd: ROOT })];

/** `provider/id` of the large providers, as words of a text. */
const NAME = /(?<![@\w/])(?:anthropic\/claude|openai\/(?:gpt-\d|o\d)|google\/gem)[\w.-]*\w/g;

const NAMED = TEXTS.filter((page) => page !== ENDS).flatMap((page) =>
  Array.from(readFileSync(join(ROOT, page), "utf8").matchAll(NAME), ([name]) => ({ page, name })),
);

const DEFAULTS = Object.entries(PROVIDERS).map(([provider, { model }]) => ({
  page: "the default of its provider",
  name: `${provider}/${model}`,
}));

test("no model that an example names has an announced end", () => {
  expect([...NAMED, ...DEFAULTS].filter(({ name }) => endOf(name))).toEqual([]);
});

test("each model that an example names is in the bundled list", () => {
  const listed = new Set(listModels({ PI_CODING_AGENT_DIR: "/nonexistent" }).map(({ id }) => id));
  const missing = [...NAMED, ...DEFAULTS].filter(({ name }) => !listed.has(name));
  expect(NAMED.length).toBeGreaterThan(30);
  expect(missing).toEqual([]);
});
