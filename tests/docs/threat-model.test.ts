import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ATTACKS } from "../../campaigns/attack/attacks.ts";
import { CASES } from "../../campaigns/attack/cases.ts";
import { ROOT } from "../../scripts/process.ts";

const page = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");
const security = readFileSync(join(ROOT, "SECURITY.md"), "utf8");

test("the threat model and SECURITY.md promise the same", () => {
  const inScope = security.slice(0, security.indexOf("## What is out of scope"));
  const promised = Array.from(inScope.matchAll(/^- \*\*(.*?)\.\*\*/gm), ([, name]) => name);
  expect(promised.length).toBeGreaterThan(5);
  const rows = page.slice(page.indexOf("| promise |")).split("\n\n", 1)[0]?.split("\n").slice(2) ?? [];
  const names = rows.map((row) => row.split("|")[1]?.trim());
  expect(names).toEqual(promised);
});

test("every class of attack is named, and the page is short", () => {
  const classes = new Set([...ATTACKS, ...CASES].map((attack) => attack.class));
  for (const name of classes) expect(page).toContain(`\`${name}\``);
  expect(page.split(/\s+/).length).toBeLessThan(1000);
});
