import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cell } from "../../support/ask/scene.ts";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const SCHEMAS = {
  "twice.json": '{"type":"object","type":"string"}',
  "wrong.json": '{"type":"nope"}',
  "object.json": '{"type":"object","required":["a"]}',
};
const FILES = { "a.txt": "alpha\n", "b.txt": "beta\n", "broken.json": "{", ...SCHEMAS };
const LOOK = cell("print(list_docs().map(({ id }) => id).join())");

/** The command in a folder of files, with a model that looks and then answers. */
async function scene() {
  const server = await startModelServer(({ body }) => (body.messages.length < 3 ? LOOK : { text: '{"a": 1}' }));
  onTestFinished(() => server.close());
  const cwd = folderWith(FILES);
  const model = ["--model", "local/root", "--base-url", server.url];
  return { server, cwd, home: join(cwd, "home"), model };
}

const Q = ["Which?", "-c", "a.txt"];

test.each([
  [[], "no question given"],
  [[" ", "-c", "a.txt"], "no question given"],
  [["Which?"], "no context given"],
  [["Which", "one?", "-c", "a.txt"], "the question is several arguments; put it in quotes"],
  [[...Q, "--max-turns", "0"], "--max-turns is 0: it takes a whole number from 1 to 100"],
  [[...Q, "--max-turns", "101"], "--max-turns is 101: it takes a whole number from 1 to 100"],
  [[...Q, "--turn-tokens", "0"], "--turn-tokens is 0: it takes a whole number from 1"],
  [[...Q, "--protocol", "fences"], "--protocol is fences: it takes auto, tools or fence"],
  [[...Q, "--sub-modle", "local/x"], "unknown option --sub-modle; did you mean --sub-model?"],
  [[...Q, "--dry-run"], "unknown option --dry-run"],
  [[...Q, "--schema"], "--schema needs FILE"],
])("usage: belay ask %j says what is wrong and what to try, with exit code 2", async (args, problem) => {
  const run = await belayHere(["ask", ...args], { cwd: folderWith(FILES) });
  expect(run).toMatchObject({ code: 2, stdout: "" });
  expect(run.stderr).toContain(`belay ask: ${problem}`);
  expect(run.stderr).toContain("\ntry: belay ");
});

test.each([
  ["missing.json", "path_not_found", "missing.json does not exist"],
  ["broken.json", "invalid_argument", "broken.json cannot be read as JSON"],
  ["twice.json", "invalid_argument", "twice.json cannot be read as JSON: an object has two properties of one name"],
  ["wrong.json", "invalid_argument", "the answer's schema is wrong at /type"],
])("--schema %s is refused before anything is loaded", async (file, error_code, problem) => {
  const { server, cwd, home, model } = await scene();
  const run = await belayHere(["ask", ...Q, "--schema", file, ...model, "-q"], { cwd, home });
  expect(run).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`error: ${problem}`) });
  const json = await belayHere(["ask", ...Q, "--schema", file, ...model, "--json"], { cwd, home });
  expect(JSON.parse(json.stdout)).toMatchObject({ success: false, error_code });
  expect(server.requests).toEqual([]);
  expect(existsSync(join(home, "belay.db"))).toBe(false);
});

test("with a schema the answer is printed as JSON", async () => {
  const { cwd, home, model } = await scene();
  const run = await belayHere(["ask", ...Q, "--schema", "object.json", ...model, "-q"], { cwd, home });
  expect(run).toEqual({ code: 0, stdout: '{ "a": 1 }\n', stderr: "" });
});

test("-c may be repeated, and - is stdin", async () => {
  const { server, cwd, home, model } = await scene();
  const args = ["ask", "Which?", "-c", "a.txt", "-c", "b.txt", "-c", "-", ...model, "-q"];
  expect(await belayHere(args, { cwd, home, input: "gamma\n" })).toMatchObject({ code: 0 });
  expect(server.requests[1]?.prompt).toContain("a.txt,b.txt,stdin");
});

test("--turn-tokens, --protocol and --sub-model are those of the requests", async () => {
  const { server, cwd, home, model } = await scene();
  const flags = ["--turn-tokens", "777", "--protocol", "fence", "--sub-model", "local/small"];
  await belayHere(["ask", ...Q, ...flags, ...model, "-q"], { cwd, home });
  expect(server.requests[0]?.body).toMatchObject({ model: "root", max_tokens: 777 });
  expect(server.requests[0]?.body).not.toHaveProperty("tools");
});
