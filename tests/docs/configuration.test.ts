import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { readConfig, USER_ONLY } from "../../src/settings/config.ts";
import { ROWS } from "../../src/settings/table.ts";
import { folderWith } from "../support/tree.ts";

const DOCUMENT = readFileSync(join(ROOT, "docs/configuration.md"), "utf8");

test("the document names what is refused to a project, and what can be taken back", () => {
  const named = (pattern: RegExp) =>
    Array.from(pattern.exec(DOCUMENT)?.[1]?.matchAll(/`(\w+)`/g) ?? [], ([, key]) => key);
  expect(named(/It may not set ([^:]*):/)).toEqual(USER_ONLY);
  expect(named(/says "none" for ([^:]*):/)).toEqual(ROWS.filter(([, row]) => row.canBeNone).map(([key]) => key));
});

test("the examples are accepted where they belong", () => {
  const [user = "", project = ""] = Array.from(DOCUMENT.matchAll(/```json\n(.*?)```/gs), ([, text = ""]) => text);
  const folder = folderWith({ "home/config.json": user, "repo/.git/HEAD": "", "repo/belay.config.json": project });
  const userFile = join(folder, "home/config.json");
  const settings = readConfig({}, { cwd: join(folder, "repo"), env: {}, userFile });
  const roots = [join(folder, "repo/docs")];
  expect(settings).toEqual({ ...JSON.parse(user), ...JSON.parse(project), roots });
});
