import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as sdk from "@modelcontextprotocol/server";
import { expect, test } from "vitest";

// Long calls should be tasks of the protocol as soon as the SDK can serve them: then this fails, and docs/limitations/mcp.md is to change.

const PACKAGE = new URL("../package.json", import.meta.resolve("@modelcontextprotocol/server"));
const isOfTasks = (name: string) => /task/i.test(name);

test("the SDK has types of tasks, and nothing that serves them", () => {
  // A key of `_meta` and a check of parameters: neither keeps a task nor answers tasks/get.
  expect(Object.keys(sdk).filter(isOfTasks).sort()).toEqual(["RELATED_TASK_META_KEY", "isTaskAugmentedRequestParams"]);
  for (const { prototype } of [sdk.Server, sdk.McpServer, sdk.Protocol])
    expect(Object.getOwnPropertyNames(prototype).filter(isOfTasks)).toEqual([]);
  const { exports } = JSON.parse(readFileSync(fileURLToPath(PACKAGE), "utf8"));
  expect(Object.keys(exports).filter(isOfTasks)).toEqual([]);
});
