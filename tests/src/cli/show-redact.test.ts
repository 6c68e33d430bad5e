import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../support/tree.ts";
import { json, said } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const KEY = "sk-proj-Zk3vQ9xW2mB7tR5yN8pL4cF6hJ1dG0sA";
const STUB = `[redacted: ${KEY.length} characters]`;

test("show --json --redact has the session without keys, also in texts that are cut", async () => {
  const home = join(folderWith(), "home");
  // The bound of a text would cut the second key in half.
  const cell = `const key = "${KEY}"; print(key); print("x".repeat(49_138) + "\\n" + key + "y".repeat(40_000)); ({ [key]: key })`;
  expect(await belayHere(["exec", "-e", cell, "-s", "keys"], { home })).toMatchObject({ code: 0 });
  const plain = await belayHere(["show", "keys", "--json"], { home });
  expect(json(plain).session.execs[0].source).toBe(cell);
  for (const more of [[], ["--exec", "1"]]) {
    const shown = await belayHere(["show", "keys", "--json", "--redact", ...more], { home });
    expect(shown.stdout).not.toContain(KEY.slice(0, 12));
    const exec = json(shown).exec ?? json(shown).session.execs[0];
    expect(exec.source).toBe(cell.replace(KEY, STUB));
    expect(exec.stdout).toMatch(new RegExp(`^\\[redacted: ${KEY.length} characters\\]\n`));
    expect(exec.result_json).toEqual({ [STUB]: STUB });
  }
});

test("--redact belongs to --json", async () => {
  expect(await belayHere(["show", "keys", "--redact"])).toMatchObject(said(2, "--redact needs --json"));
});
