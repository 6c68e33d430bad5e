import { join } from "node:path";
import { expect, test } from "vitest";
import { PI_KEYS } from "../../../src/config/pi.ts";
import { PI_DEFAULTS, piOrigins } from "../../../src/config/pi-origins.ts";
import { folderWith } from "../../support/tree.ts";

test("every setting is there with its value in force and the place that it comes from", () => {
  const folder = folderWith({
    "home/config.json": JSON.stringify({ max_tokens: 1000, max_sub_calls: 7, concurrency: 2, model: "a/b" }),
    "agent/belay.json": JSON.stringify({ sub_model: "a/b", max_sub_calls: 9, allowed_tool_overrides: ["bash"] }),
    "project/.pi/belay.json": JSON.stringify({ sub_model: "a/c", max_sub_calls: 10, max_tokens: 900, roots: ["docs"] }),
  });
  const [cwd, agentDir] = [join(folder, "project"), join(folder, "agent")];
  const userFile = join(folder, "home/config.json");
  const { settings, files } = piOrigins({ cwd, agentDir, userFile, env: { BELAY_CONCURRENCY: "3" } });
  const [project = "", agent = ""] = files;
  expect(files).toEqual([join(cwd, ".pi/belay.json"), join(agentDir, "belay.json"), userFile]);
  expect(settings.map(({ key }) => key)).toEqual(PI_KEYS);
  const set = settings.filter(({ from }) => from !== null);
  expect(Object.fromEntries(set.map(({ key, value, from }) => [key, [value, from]]))).toEqual({
    sub_model: ["a/c", project],
    allowed_tool_overrides: ["bash", agent],
    // Of a project's limit and the user's the lesser holds.
    max_sub_calls: ["9", agent],
    max_tokens: ["900", project],
    concurrency: ["3", "BELAY_CONCURRENCY"],
    roots: [join(cwd, "docs"), project],
  });
});

test("every key has a default in words", () => {
  expect([...PI_DEFAULTS.keys()].sort()).toEqual([...PI_KEYS].sort());
  const places = { cwd: folderWith(), agentDir: folderWith(), userFile: join(folderWith(), "config.json"), env: {} };
  const { settings } = piOrigins(places);
  expect(settings).toContainEqual({ key: "max_cost_usd", value: "none", from: null });
  expect(settings).toContainEqual({ key: "memory_mb", value: "128", from: null });
});
