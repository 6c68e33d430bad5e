import { join } from "node:path";
import { expect, test } from "vitest";
import { ERAS, openPair, project } from "./pair.ts";

const CORE = ["rlm_load", "rlm_load_append", "rlm_exec", "rlm_query", "rlm_ask", "rlm_status", "rlm_wait"];

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
  expect(await call("rlm_exce", {})).toMatchObject({
    success: false,
    error_code: "invalid_argument",
    error_message: "there is no tool rlm_exce; did you mean rlm_exec?",
  });
  expect(await call("rlm_exec", { cod: "1" })).toMatchObject({ success: false, error_code: "invalid_argument" });
  expect(await call("rlm_load", { path: "more" })).toMatchObject({
    success: false,
    error_code: "invalid_argument",
    suggestion: `Pass the absolute path: ${join(of.folder, "more")}`,
  });
  expect(await call("rlm_load", { path: "/etc" })).toMatchObject({
    error_code: "path_outside_sandbox",
    suggestion: expect.stringContaining("--root DIR"),
  });
});
