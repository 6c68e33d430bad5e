import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { flagOf } from "../../src/cli/flags/values.ts";
import { readConfig } from "../../src/settings/config.ts";
import { KEYS, LIMIT_DEFAULTS, TAKEN_BACK, USER_ONLY } from "../../src/settings/settings.ts";
import { folderWith } from "../support/tree.ts";

const DOCUMENT = readFileSync(join(ROOT, "docs/configuration.md"), "utf8");

/** The rows of the table of keys, as far as they can be computed. */
const ROWS = Array.from(DOCUMENT.matchAll(/^\| `([a-z_]+)` \| (.*?) \| (.*?) \| (.*?) \|/gm), (row) => row.slice(1));

test("the document has every key, with its variable, flag and default, and no other", () => {
  const defaults = new Map<string, number | string | null>(
    Object.entries({ ...LIMIT_DEFAULTS, thinking: "off", delivery: "now" }),
  );
  const expected = KEYS.map((key) => {
    const flag = flagOf(key);
    const shown = flag ? `\`--${flag.name}\`` : "none";
    const variable = key === "convert" ? "none" : `\`BELAY_${key.toUpperCase()}\``;
    return [key, variable, shown, String(defaults.get(key) ?? "none")];
  });
  expect(ROWS.map((row) => row.map((cell) => cell.trim()))).toEqual(expected);
});

test("the document names what is refused to a project, and what can be taken back", () => {
  const named = (pattern: RegExp) =>
    Array.from(pattern.exec(DOCUMENT)?.[1]?.matchAll(/`(\w+)`/g) ?? [], ([, key]) => key);
  expect(named(/It may not set ([^:]*):/)).toEqual(USER_ONLY);
  expect(named(/says "none" for ([^:]*):/)).toEqual(TAKEN_BACK);
});

test("the examples are accepted where they belong", () => {
  const [user = "", project = ""] = Array.from(DOCUMENT.matchAll(/```json\n(.*?)```/gs), ([, text = ""]) => text);
  const folder = folderWith({ "home/config.json": user, "repo/.git/HEAD": "", "repo/belay.config.json": project });
  const userFile = join(folder, "home/config.json");
  const settings = readConfig({}, { cwd: join(folder, "repo"), env: {}, userFile });
  const roots = [join(folder, "repo/docs")];
  expect(settings).toEqual({ ...JSON.parse(user), ...JSON.parse(project), roots });
});
