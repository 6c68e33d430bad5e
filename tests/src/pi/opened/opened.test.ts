import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession } from "../../../../src/index.ts";
import { lent, lentTools } from "../../../../src/pi/opened/opened.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

const { signal } = new AbortController();

test("Pi's own tools work in the project for a sub-agent", async () => {
  const folder = folderWith({ "a.txt": "one\n" });
  const [bash, write, edit] = lentTools(folder);
  expect([bash, write, edit].map((tool) => [tool?.name, tool?.sideEffects, tool?.parameters.type])).toEqual([
    ["bash", true, "object"],
    ["write", true, "object"],
    ["edit", true, "object"],
  ]);
  expect((await bash?.run({ command: "cat a.txt" }, signal))?.text).toContain("one");
  await write?.run({ path: "b.txt", content: "two\n" }, signal);
  await edit?.run({ path: "b.txt", edits: [{ oldText: "two", newText: "three" }] }, signal);
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("three\n");
});

test("a tool that the host cannot make fails the call to which it is lent, and no other", async () => {
  let made = 0;
  const make = () => {
    made++;
    throw new Error("no shell here");
  };
  const bash = lent({ name: "bash", description: "Run a command." }, make, async () => ({ content: [] }));
  await using server = await startModelServer(() => ({ text: "fine" }));
  await using session = await openSession({
    model: "local/m",
    baseUrl: server.url,
    subAgents: {
      tools: [bash, ...lentTools(folderWith()).slice(1)],
      allowed_tool_overrides: ["bash", "write"],
      require_approval: false,
    },
  });
  const ask = (tool: string) => session.exec(`await llm_query("hello", { tools: ["${tool}"] })`);
  expect(await ask("write")).toMatchObject({ result_json: "fine" });
  expect(made).toBe(0);
  const error_message = expect.stringContaining("this host's bash cannot be made: no shell here");
  expect(await ask("bash")).toMatchObject({ success: false, error_message });
});
