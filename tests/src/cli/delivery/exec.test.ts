import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json, jsonLines, said } from "../belay.ts";
import { deliveryLines } from "./scene.ts";

const CELL = 'await llm_query("x", { tools: [] })';
const EXEC = ["exec", "-e", CELL, "--session", "s"];
const gate = () => Promise.withResolvers<void>();

test("exec and resume end with 4 and say what they wait for, and resume ends the cell", async () => {
  const answers = gate();
  const { type, server } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const waits =
    /(?:^|\n)1 call waits for local \(batch_0, since \d+ s; most take less than an hour, 24 h at the most\)\nsuspended; continue with: belay resume s\n$/;
  const first = await type([...EXEC, "--wait", "0"]);
  expect(first).toMatchObject({ code: 4, stdout: "", stderr: expect.stringMatching(waits) });
  const again = await type(["resume", "s", "--wait", "0", "--json"]);
  expect([again.code, json(again)]).toMatchObject([
    4,
    {
      ...{ success: false, error_code: "waits_for_provider", resumable: true, resume: "belay resume s" },
      ...{
        error_message: "1 call waits for local batch_0",
        waits: [{ provider: "local", batch: "batch_0", calls: 1 }],
      },
    },
  ]);
  expect(await type(["exec", "-e", "1", "--session", "s"])).toMatchObject(said(1, "s has an unfinished cell"));
  const shown = (await type(["show", "s"])).stdout;
  expect(shown).toMatch(/\n1 call waits for local batch_0 since \d\d:\d\d\n\nunfinished: belay resume s\n$/);
  expect((await type(["doctor"])).stdout).toContain("session s waits for a provider\n");
  const busy = "session s waits for 1 call in the batch batch_0 (session_busy)";
  expect(await type(["rm", "s"])).toMatchObject(said(1, busy));
  answers.resolve();
  expect(await type(["resume", "s"])).toMatchObject({ code: 0, stdout: "X\n" });
  expect((await type(["show", "s", "--exec", "1", "--call", "1"])).stdout).toContain(" · by provider batch batch_0");
  expect(server.ran).toHaveLength(1);
});

test("a dry run and the wait name the limit that splits a batch", async () => {
  const answers = gate();
  const { type } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const cell = 'await llm_query_batch(["a", "b", "c"], { tools: [], max_tokens: 1000 })';
  const line = ["exec", "-e", cell, "--session", "s", "--max-tokens", "2200"];
  const words = "1 call waits for tokens held by 2 others: raise `--max-tokens 3050`";
  expect((await type([...line, "--dry-run"])).stdout).toContain(`\nby provider batch ${words}\n`);
  const { stderr } = await type([...line, "--wait", "0"]);
  expect(stderr).toMatch(/^2 calls wait for local .*\n1 call waits .*\nsuspended; continue with: belay resume s\n$/);
  expect(stderr).toContain(`\n${words}\n`);
  answers.resolve();
  expect(await type(["resume", "s"])).toMatchObject({ code: 0 });
});

test("of several cells those that are left go on with the resume, and --discard gives up what is out", async () => {
  const answers = gate();
  const { type, server } = await deliveryLines({ fate: () => ({ wait: answers.promise }) });
  const both = ["exec", "-e", CELL, "-e", "6 * 7", "--session"];
  expect(await type([...both, "s", "--wait", "0"])).toMatchObject({ code: 4 });
  expect(await type([...both, "t", "--wait", "0"])).toMatchObject({ code: 4 });
  expect(await type(["exec", "-e", "1", "--session", "t", "--discard"])).toMatchObject({ code: 0, stdout: "1\n" });
  answers.resolve();
  const done = await type(["resume", "s", "--json"]);
  expect(jsonLines(done).map(({ result_json }) => result_json)).toEqual(["X", 42]);
  expect(server.batches).toHaveLength(2);
});

test("a cell that only somebody's act can help ends with 3, and says why and what to do", async () => {
  const { type, server } = await deliveryLines({
    fault({ kind, n }) {
      if (kind === "upload" && n === 0) return { status: 404 };
      if (kind === "create" && n === 0) return { lost: "response" };
      return kind === "list" ? { status: 405 } : undefined;
    },
  });
  const none =
    "local/m: POST /v1/files failed (404): scripted 404: this server has no batches\nsuggestion: Nothing was sent. Run the same line with `--delivery now`.\n";
  expect(await type(EXEC)).toMatchObject(said(3, none));
  const doubt = "local/m: a batch of 1 call may have been made, and cannot be looked for";
  expect(await type(["resume", "s"])).toMatchObject(said(3, `SubCallError: ${doubt}\n`));
  const told = await type(["resume", "s", "--json"]);
  const error = { error_code: "provider_error", error_message: doubt, error_name: "SubCallError", resumable: true };
  expect([told.code, json(told)]).toMatchObject([3, error]);
  expect(await type(["resume", "s", "--resend-doubtful"])).toMatchObject({ code: 0, stdout: "X\n" });
  expect(server.ran).toHaveLength(2);
});

test("an ask is suspended and goes on as a cell is", async () => {
  const answers = gate();
  const { type } = await deliveryLines({
    fate: () => ({ wait: answers.promise }),
    answer({ prompt, body }) {
      if (prompt === "leaf") return { text: "LEAF" };
      const knows = JSON.stringify(body).includes("LEAF");
      const code = knows
        ? 'answer("it says " + got)'
        : 'const got = await llm_query("leaf", { tools: [] }); print(got)';
      return { tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] };
    },
  });
  const left = await type(["ask", "what?", "-c", "ask.js", "--session", "s", "--wait", "0"]);
  expect(left).toMatchObject({
    code: 4,
    stdout: "",
    stderr: expect.stringMatching(/\nsuspended; continue with: .*\n$/),
  });
  expect(left.stderr).toMatch(/(?:^|\n)1 call waits for local \(batch_0, /);
  answers.resolve();
  const done = await type(["resume", "s"]);
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("it says LEAF") });
});

test.each(["x", "-1", "5", "1h30", "", "1e3s", "99999999999s"])("--wait %j is not a time", async (wait) => {
  const { type } = await deliveryLines();
  expect(await type(["exec", "-e", "1", "--wait", wait])).toMatchObject(
    said(2, "it takes a time such as 0, 90s, 10min or 2h"),
  );
});

test("commands whose calls are sent at once, and stores that do not last, take no delivery", async () => {
  const { type, server } = await deliveryLines();
  for (const command of ["query", "mcp"]) {
    expect(await type([command, "what", "--delivery", "batch"])).toMatchObject(said(2, "unknown option --delivery"));
  }
  expect(await type(["exec", "-e", "1", "--delivery", "soon"])).toMatchObject(said(2, 'must be "now" or "batch"'));
  expect(await type(["exec", "-e", CELL, "--no-store"])).toMatchObject(
    said(1, "delivery by provider batch needs a session that is kept"),
  );
  expect(server.steps).toEqual([]);
});

test("the user's file may name a delivery, and nothing that is none; a project's file may not", async () => {
  const { type, folder, home, server } = await deliveryLines({}, { "home/config.json": '{"delivery":"batch"}' });
  const config = join(home, "config.json");
  const unset = { BELAY_DELIVERY: "" };
  expect(await type(EXEC, unset)).toMatchObject({ code: 0, stdout: "X\n" });
  // A flag of the user goes before it.
  expect(await type([...EXEC, "--delivery", "now"], unset)).toMatchObject({ code: 0, stdout: "X\n" });
  expect(server.ran.map(({ batch }) => batch)).toEqual(["batch_0", null]);
  writeFileSync(config, '{"delivery":"soon"}');
  expect(await type(["exec", "-e", "1"], unset)).toMatchObject(said(1, 'delivery must be "now" or "batch"'));
  writeFileSync(config, "{}");
  writeFileSync(join(folder, "belay.config.json"), '{"delivery":"now"}');
  expect(await type(["exec", "-e", "1"], unset)).toMatchObject(said(1, "delivery"));
});
