import { expect, test } from "vitest";
import { json } from "../belay.ts";
import { FILES, scene } from "./scene.ts";

const failing = { status: 400, body: '{"error":{"message":"no"}}' };

test("a fork answers one agent by hand and skips another, and the copy continues with the rest", async () => {
  const { workflow, belay, server } = await scene({}, ({ prompt }) =>
    prompt.includes("find b") ? failing : { text: `did ${prompt}` },
  );
  const { run } = json(await workflow("audit.js", ...FILES, "--json"));
  const made = server.requests.length;
  const forked = json(
    await belay("fork", run, "--name", "by-hand", "--answer", '2="found b"', "--skip", "3", "--json"),
  );
  expect(forked).toMatchObject({ success: true, session: { name: "by-hand", status: "unfinished" } });
  const resumed = await belay("resume", "by-hand");
  expect([resumed.code, JSON.parse(resumed.stdout)]).toEqual([0, [null, "did verify found b"]]);
  // Only what follows the answer by hand is asked.
  expect(server.requests.length).toBe(made + 1);
  expect((await belay("show", "by-hand")).stdout).toMatch(/by hand .*Find: b/);
  expect((await belay("show", run)).stdout).not.toContain("by hand");
});

test.each([
  [["--answer", "2"], 2, "it takes CALL=JSON"],
  [["--answer", "2=yes"], 1, "the answer of call 2 is not valid JSON"],
  [["--answer", '2="a"', "--skip", "2"], 2, "the call 2 is answered twice"],
  [["--answer", '9="a"'], 1, "has no call 9"],
  [["--answer", "2=@none.json"], 1, "none.json does not exist"],
])("fork refuses %j", async (more, code, words) => {
  const { workflow, belay } = await scene();
  const { run } = json(await workflow("audit.js", ...FILES, "--json"));
  const refused = await belay("fork", run, ...more);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(words)]);
});
