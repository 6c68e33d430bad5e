import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { objectId } from "../../../src/context/index.ts";
import { fakePi, mirrorOn, recovered, resultsOn, startedPi, until } from "./fake-pi.ts";
import { stoppingAt } from "./stopping-store.ts";

const FILES = { "a.txt": "alpha", "src/one.ts": "1\n", "src/two.ts": "2\n" };
const line = (name: string, text: string) => `${objectId(text)} ${name} (${Math.ceil(text.length / 4)} tokens)`;

test("files are added in one exec, where nothing was loaded too, and are read by the ids of the answer", async () => {
  const { pi, life } = await startedPi(FILES);
  await life.call("rlm_exec", { code: "let kept = 7; result = kept" });
  expect(await life.call("rlm_ingest", { paths: ["src/*.ts", "a.txt"] })).toMatchObject({
    ...{ success: true, added: 3, already: 0 },
    objects: [line("src/one.ts", "1\n"), line("src/two.ts", "2\n"), line("a.txt", "alpha")],
    stats: { document_count: 3 },
  });
  expect(mirrorOn(pi.branch).slice(-2)).toEqual(["rlm_start append", "rlm_complete append"]);
  expect(await life.call("rlm_peek", { id: objectId("alpha") })).toMatchObject({
    text: expect.stringMatching(/P: a\.txt .*\nalpha$/s),
  });
  expect(await life.call("rlm_exec", { code: "result = kept" })).toMatchObject({ result_json: 7 });
});

test("a file that is there is named and not added again; one that has changed is added", async () => {
  const { pi, life } = await startedPi(FILES);
  await life.call("rlm_ingest", { paths: ["src"] });
  writeFileSync(join(pi.folder, "src/two.ts"), "two\n");
  const objects = [line("src/two.ts~2", "two\n"), line("src/one.ts", "1\n")];
  expect(await life.call("rlm_ingest", { paths: ["src/**"] })).toMatchObject({ added: 1, already: 1, objects });
  expect(await life.call("rlm_ingest", { paths: ["src"] })).toMatchObject({ added: 0, already: 2 });
});

test("one bad path leaves everything as it was, and says what is wrong", async () => {
  const { life } = await startedPi(FILES);
  await life.call("rlm_ingest", { paths: ["a.txt"] });
  expect(await life.call("rlm_ingest", { paths: ["src", "missing/*.ts"] })).toMatchObject({
    success: false,
    error_code: "path_not_found",
    error_message: expect.stringContaining("missing/*.ts"),
    objects: [],
  });
  expect(await life.call("rlm_ingest", { paths: ["/etc/hostname"] })).toMatchObject({
    error_code: "path_outside_sandbox",
  });
  expect(await life.call("rlm_exec", { code: "result = list_docs().map(({ id }) => id)" })).toMatchObject({
    result_json: ["a.txt"],
  });
});

test("settings bound what is added at once, and a project's file can lower them", async () => {
  const pi = fakePi(FILES);
  mkdirSync(join(pi.folder, ".pi"));
  writeFileSync(join(pi.folder, ".pi/belay.json"), JSON.stringify({ max_ingest_files: 1 }));
  const life = await pi.start();
  expect(await life.call("rlm_ingest", { paths: ["src"] })).toMatchObject({
    error_code: "context_too_large",
    error_message: expect.stringContaining("more than 1 files"),
  });
  expect(await life.call("rlm_ingest", { paths: ["src/one.ts"] })).toMatchObject({ added: 1 });
});

test("of many files the first are named, and the others are counted", async () => {
  const names = Array.from({ length: 60 }, (_, n) => `src/${String(n).padStart(2, "0")}.txt`);
  const { life } = await startedPi(Object.fromEntries(names.map((name) => [name, name])));
  const answer = await life.call("rlm_ingest", { paths: ["."] });
  expect(answer).toMatchObject({ added: 60, more: 10 });
  expect(answer.objects).toHaveLength(50);
});

test.for([
  ["rlm_start", "before"],
  ["rlm_complete", "before"],
  ["rlm_complete", "after"],
] as const)("killed at %s, %s it is kept: the call is answered as it would have been", async ([record, side]) => {
  const pi = fakePi(FILES);
  const before = await pi.start();
  await before.call("rlm_ingest", { paths: ["a.txt"] });
  await before.leave();
  const { isReached, around } = stoppingAt(record, 1, side);
  const dying = await pi.start({ store: around });
  void dying.begin("rlm_ingest", { paths: ["a.txt", "src"] }, "killed").catch(() => {});
  await until(isReached);
  await dying.die();
  const after = await pi.start();
  await recovered(after.lifecycle);
  const objects = [line("src/one.ts", "1\n"), line("src/two.ts", "2\n"), line("a.txt", "alpha")];
  const ingested = { success: true, added: 2, already: 1, objects, stats: { document_count: 3 } };
  expect(resultsOn(pi.branch).killed).toMatchObject(ingested);
  expect(await after.call("rlm_exec", { code: "result = list_docs().length" })).toMatchObject({ result_json: 3 });
});
