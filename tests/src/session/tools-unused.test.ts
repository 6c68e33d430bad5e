import { expect, test } from "vitest";
import { warningText } from "../../../src/cli/render/warnings.ts";
import { openScripted, promptOf, using } from "../../support/scripted-session.ts";

const batchOf = (count: number, options = "{}") =>
  `await llm_query_batch(Array.from({ length: ${count} }, (_, n) => "row " + n), ${options})`;

test("ten calls that had tools and used none are told, with the tokens that they took", async () => {
  const { session } = await openScripted(() => "yes");
  const { warnings } = await session.exec(batchOf(10));
  expect(warnings).toEqual([
    expect.stringMatching(
      /^tools_unused: 10 sub-calls had tools that read files, and used none; with tools: \[\] they take about \d,\d{3} tokens less$/,
    ),
  ]);
  const [warning = ""] = warnings;
  const tokens = Number(/about ([\d,]+)/.exec(warning)?.[1]?.replace(",", ""));
  expect(tokens).toBeGreaterThan(3000);
  expect(warningText(warning)).toMatch(/^10 sub-calls had tools/);
});

test("fewer calls, calls without tools, and calls of which one used a tool are not", async () => {
  const { session } = await openScripted((request) => (promptOf(request) === "row 3" ? using("list_dir", {}) : "yes"));
  for (const code of [batchOf(3), batchOf(12, "{ tools: [] }"), batchOf(12, '{ tools: ["read_file"] }'), batchOf(12)])
    expect((await session.exec(code)).warnings.filter((warning) => warning.startsWith("tools_unused"))).toEqual([]);
});
