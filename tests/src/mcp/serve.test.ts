import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../runtime/index.ts";
import { openFree } from "../../../src/mcp/connection.ts";
import { folderSession } from "../../../src/mcp/session-source.ts";
import type { Store } from "../../../src/store/index.ts";
import { ERAS, openPair, project } from "./pair.ts";

const CORE = ["rlm_load", "rlm_load_append", "rlm_exec", "rlm_query", "rlm_ask", "rlm_status", "rlm_wait"];

/** Every tool, with arguments, and what it answers over the two files of the project. */
const USES = [
  ["rlm_load", { path: "a.txt" }, { stats: { document_count: 1 } }],
  ["rlm_load_append", { path: "more" }, { stats: { document_count: 2 } }],
  ["rlm_helpers_add", { name: "h", code: "const twice = (n) => 2 * n;" }, { name: "h" }],
  ["rlm_helpers_list", {}, { helpers: [{ name: "h" }] }],
  ["rlm_exec", { code: "twice(find('alpha').matches.length)" }, { result_json: 4 }],
  ["rlm_helpers_remove", { name: "h" }, { removed: true }],
  ["rlm_query", { prompt: "What is alpha?", max_sections: "1" }, { answer: expect.any(String), sections_analyzed: 1 }],
  ["rlm_ask", { question: "What is alpha?" }, { success: false, error_code: "no_model_configured" }],
  ["rlm_memory_put", { key: "k", value: "5" }, { key: "k" }],
  ["rlm_memory_get", { key: "k" }, { value: "5" }],
  ["rlm_memory_batch", { ops: '[{ "op": "get", "key": "k" }]' }, { results: [{ op: "get", key: "k", value: "5" }] }],
  ["rlm_memory_list", {}, { keys: ["k"] }],
  ["rlm_memory_clear", {}, { success: true }],
  [
    "rlm_status",
    {},
    {
      context: { document_count: 2 },
      unfinished: null,
      coverage: expect.stringMatching(/^A model read .* of 2 documents\.$/),
    },
  ],
  ["rlm_wait", { discard: "false" }, { success: true, kind: "memory" }],
] as const;

test.each(ERAS)("%s: each tool is called once, with arguments that came as text", async (era) => {
  const of = project();
  const { client, call } = await openPair(of, { era, tools: "all" });
  const listed = (await client.listTools()).tools.map(({ name }) => name);
  expect(USES.map(([name]) => name).toSorted()).toEqual(listed.toSorted());
  for (const [name, args, answer] of USES) {
    const given = "path" in args ? { path: join(of.folder, args.path) } : args;
    expect(await call(name, given), name).toMatchObject({ success: true, ...answer });
  }
});

test.each(ERAS)("%s: tools are listed, a folder is loaded and explored, and what goes wrong is told", async (era) => {
  const of = project();
  const { client, call } = await openPair(of, { era });
  expect(client.getProtocolEra()).toBe(era);
  expect(client.getServerVersion()).toMatchObject({ name: "belay", version: "1.2.3" });
  expect(client.getInstructions()).toMatch(/rlm_load.*rlm_exec.*rlm_wait/);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(CORE);
  expect(await call("rlm_load", { path: of.folder })).toMatchObject({ success: true, stats: { document_count: 2 } });
  expect(await call("rlm_exec", { code: "let n = find('alpha').matches.length; n" })).toMatchObject({ result_json: 2 });
  expect(await call("rlm_exec", { code: "n + (await llm_query('four')).length" })).toMatchObject({ result_json: 3 });
  expect(await call("rlm_exec", { code: "missing" })).toMatchObject({ success: false, error_code: "js_error" });
  const error_message = "tool rlm_exce not found; did you mean rlm_exec?";
  expect(await call("rlm_exce", {})).toMatchObject({ success: false, error_code: "invalid_argument", error_message });
  expect(await call("rlm_exec", { cod: "1" })).toMatchObject({ success: false, error_code: "invalid_argument" });
  const shown = { success: true, stats: { sources: [join(of.folder, "more")], document_count: 1 } };
  const url = pathToFileURL(join(of.folder, "more")).href;
  for (const path of ["more", '"more"', url, `${url}/`]) {
    expect(await call("rlm_load", { path, reset: true }), path).toMatchObject(shown);
  }
  expect(await call("rlm_load", { path: "./more" })).toMatchObject({ already_loaded: true });
  expect(await call("rlm_load", { path: "/etc" })).toMatchObject({
    error_code: "path_outside_sandbox",
    suggestion: expect.stringContaining("--root DIR"),
  });
});

/** Time passes at once: whoever holds a name will not leave. */
function hurried(): Clock {
  let now = 0;
  return {
    ...systemClock,
    monotonic: () => now,
    after(ms, run) {
      now += ms;
      setImmediate(run);
      return () => {};
    },
  };
}

test("a second server of a folder takes another name and says so; a third finds the first name free again", async () => {
  const of = project();
  const base = folderSession(of.folder);
  const first = await openPair(of);
  await first.call("rlm_load", { path: of.folder });
  const second = await openPair(of, { clock: hurried() });
  const warning = `session_shared: ${base} is open in process ${process.pid}; this is ${base}~2`;
  expect(await second.call("rlm_status")).toMatchObject({ session: `${base}~2`, context: null, warnings: [warning] });
  expect(await second.call("rlm_load", { path: of.folder })).toMatchObject({ success: true, warnings: [warning] });
  await first.close();
  const third = await openPair(of);
  expect(await third.call("rlm_status")).toMatchObject({
    session: base,
    context: { document_count: 2, skipped: { count: 0, unread: 0, files: [], capped: false } },
  });
  expect(await third.call("rlm_status")).not.toHaveProperty("warnings");
});

test("a server that is started while its predecessor leaves gets its name", async () => {
  const of = project();
  const first = await openPair(of);
  await first.call("rlm_load", { path: of.folder });
  const second = await openPair(of);
  const found = second.call("rlm_status");
  await first.close();
  expect(await found).toMatchObject({ session: folderSession(of.folder), context: { document_count: 2 } });
});

test("where all names of a folder are held, the store stays as it is and the answer says what helps", async () => {
  const asked: string[] = [];
  const taken: Pick<Store, "find"> = {
    async find(name) {
      asked.push(name);
      return JSON.parse(JSON.stringify({ id: name, name, busy: true, holder: { pid: 7, host: "h" } }));
    },
  };
  const open = () => Promise.reject(new Error("nothing is opened"));
  await expect(openFree(taken, hurried(), "mcp-a", open)).rejects.toMatchObject({
    code: "session_busy",
    suggestion: "Close another client of this folder, or go over to another session with rlm_wait and session: NAME.",
  });
  expect([...new Set(asked)]).toEqual(["mcp-a", ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `mcp-a~${n}`)]);
  // The first is waited for, 3 s in steps of a tenth.
  expect(asked.filter((name) => name === "mcp-a")).toHaveLength(31);
});
