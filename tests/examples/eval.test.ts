import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { jsonLines } from "../src/cli/belay.ts";

const FOLDER = join(ROOT, "src/pi/read-cache");
const files = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), "utf8")]));
const exported = [...files].flatMap(([, code]) =>
  [...code.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name = ""]) => name),
);

/** True if the file imports the other one, itself or through files of the folder. */
const reaches = (from: string, to: string): boolean =>
  [...(files.get(from) ?? "").matchAll(/from "\.\/([\w-]+\.ts)"/g)].some(
    ([, name = ""]) => name === to || reaches(name, to),
  );

test("the questions about the read cache have the answers that its files give today", () => {
  const lines = jsonLines({ stdout: readFileSync(join(ROOT, "examples/eval/read-cache.jsonl"), "utf8") });
  const imported = new Set(
    [...files.values()].flatMap((code) => [...code.matchAll(/from "\.\/([\w-]+\.ts)"/g)].map(([, name]) => name)),
  );
  const constants = [...files].flatMap(([, code]) =>
    [...code.matchAll(/^export const (\w+) = "pi-readcache"/gm)].map(([, name]) => name),
  );
  const functions = [...files].flatMap(([, code]) =>
    code.split(/^(?=export (?:async )?function|(?:async )?function)/m),
  );
  const hashing = functions.filter((code) => /[^.\w]hash\(/.test(code)).map((code) => /function (\w+)/.exec(code)?.[1]);
  expect(Object.fromEntries(lines.map(({ id, answer }) => [id, answer]))).toEqual({
    importers: [...files.keys()].filter((name) => name !== "index.ts" && reaches(name, "meta.ts")).toSorted(),
    functions: exported.length,
    entry: constants.join(),
    unimported: [...files.keys()].filter((name) => !imported.has(name)).toSorted(),
    crypto: hashing.join(),
  });
});
