import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isErrorCode } from "../../runtime/index.ts";
import { TOOLS_BUDGET } from "../../scripts/docs/agent-tools.ts";
import { ROOT } from "../../scripts/process.ts";
import { completions } from "../../src/pi/view/commands.ts";
import { readPiConfig } from "../../src/settings/index.ts";
import { PI_LINES } from "../support/pi/process.ts";
import { folderWith } from "../support/tree.ts";

const page = (name: string) => readFileSync(join(ROOT, "docs", name), "utf8");

/** First cells of the rows of a page's tables under a heading, and the cells that follow them. */
function rowsUnder(name: string, heading: string): (readonly [string, string])[] {
  const section =
    page(name)
      .split(/^#+ /m)
      .find((text) => text.startsWith(heading)) ?? "";
  const rows = section.matchAll(/^\| (`.*?`) \| (.*?) \|/gm);
  return Array.from(rows, ([, first = "", second = ""]) => [first.slice(1, -1), second]);
}

test("the page on use has every command, and no other", () => {
  const commands = (completions("") ?? []).map(({ value }) => `/rlm ${value}`);
  expect(rowsUnder("pi/use.md", "Commands").map(([command]) => command)).toEqual(commands);
});

test("codes under troubleshooting are codes of the product", () => {
  const codes = rowsUnder("pi.md", "Troubleshooting").map(([code]) => code);
  expect(codes.length).toBeGreaterThan(5);
  expect(codes.filter((code) => !isErrorCode(code))).toEqual([]);
});

test("the first page has the versions of Pi that are tested, and the most that the tools' texts may take", () => {
  for (const { version } of PI_LINES) expect(page("pi.md")).toContain(version);
  expect(page("pi.md")).toContain(`at most ${TOOLS_BUDGET.toLocaleString("en-US")} tokens`);
});

test("the example is accepted in the agent folder", () => {
  const [, example = ""] = /```json\n(.*?)```/s.exec(page("pi/settings.md")) ?? [];
  const folder = folderWith({ "belay.json": example });
  const places = { cwd: folderWith(), agentDir: folder, userFile: join(folderWith(), "config.json"), env: {} };
  expect(readPiConfig(places)).toEqual(JSON.parse(example));
});
