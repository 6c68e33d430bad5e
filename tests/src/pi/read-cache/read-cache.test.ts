import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import { REFRESH_TOOL } from "../../../../src/pi/read-cache/index.ts";
import { fakeReads } from "./fake.ts";

const V1 = Array.from({ length: 61 }, (_, n) => `const value${n + 1} = "${"x".repeat(20)}";`).join("\n");
const V2 = V1.replace("value30 ", "other ");
const WHOLE = /^const value1 = /;
const UNCHANGED = /^\[readcache: unchanged, 61 lines\]\nYour earlier read/;
const DIFF = /^\[readcache: 1 lines changed of 61\]\n--- a\/a\.txt\n\+\+\+ b\/a\.txt\n@@ /;

function withFile(options: Parameters<typeof fakeReads>[0] = {}) {
  const pi = fakeReads({ ...options, files: { "a.txt": V1, ...options.files } });
  return Object.assign(pi, {
    write: (text: string) => writeFileSync(pi.path("a.txt"), text),
    a: (text = V1, asked = {}) => pi.read("a.txt", text, asked),
  });
}

test("a file that is read again costs a line, and one that changed a diff; Pi's details stay", async () => {
  const pi = withFile();
  const first = await pi.a();
  expect(first.text).toMatch(WHOLE);
  // Equal content is not given back: later versions of Pi would drop a result's structure.
  expect(Object.keys(first.returned)).toEqual(["details"]);
  expect((await pi.a()).text).toMatch(UNCHANGED);
  pi.write(V2);
  expect((await pi.a(V2)).text).toMatch(DIFF);
  expect((await pi.a(V2)).text).toMatch(UNCHANGED);
  // Later versions of Pi show nothing of a read but its path.
  expect(pi.shown).toEqual([
    undefined,
    "read cache: a.txt unchanged · ~573 tokens saved",
    expect.stringMatching(/^read cache: a\.txt as a diff · ~1\.\dk tokens saved$/),
    expect.stringMatching(/^read cache: a\.txt unchanged · ~1\.\dk tokens saved$/),
  ]);
  const long = `${"line\n".repeat(2_500)}end`;
  pi.write(long);
  const cut = await pi.a(long);
  const again = await pi.a(long);
  expect(again.text).toMatch(
    /^\[readcache: unchanged in lines 1-2000 of 2501\]\n.*\n\n\[Showing lines 1-2000 of 2501\. /,
  );
  expect(again.details?.truncation).toEqual(cut.details?.truncation);
  // Lines that were never shown are not unchanged.
  expect((await pi.a(long, { offset: 2_300, limit: 3 })).text).toMatch(/^line\n/);
});

test("another process goes on at once, with texts from the store; without them a change is shown whole", async () => {
  const pi = withFile();
  await pi.a();
  await pi.left();
  pi.restart();
  pi.write(V2);
  expect((await pi.a(V2)).text).toMatch(DIFF);
  await pi.left();
  pi.texts.clear();
  pi.restart();
  pi.write(V1);
  expect((await pi.a()).details).toMatchObject({ readcache: { mode: "baseline_fallback" } });
  expect((await pi.a()).text).toMatch(UNCHANGED);
});

test.for([
  ["an error", { isError: true }],
  ["an image", { content: [{ type: "text", text: "an image" }, { type: "image" }] }],
  ["a nested call, whose program is to get the text", { parentToolCallId: "call_9" }],
  ["the answer of another cache", { details: { readcache: { mode: "full" } } }],
  ["another tool", { toolName: "cat" }],
] as const)("%s is left as it is", async ([, more]) => {
  const pi = withFile();
  await pi.a();
  pi.request();
  const [id = ""] = pi.call({ name: "read", args: { path: "a.txt" } });
  expect((await pi.answer(id, "a.txt", {}, V1, more)).returned).toEqual({});
});

test("secrets, files that are exempt, and files that are not there are left as they are", async () => {
  const settings = { read_cache: true, read_cache_exclude: ["*.private"] };
  const pi = withFile({ files: { ".env": V1, "x.private": V1 }, settings });
  for (const name of [".env", "x.private", "none.txt"]) expect((await pi.read(name, V1)).returned).toEqual({});
  expect(pi.texts.size).toBe(0);
});

test("an aborted read is left as it is, and makes nothing known", async () => {
  const pi = withFile();
  await pi.a();
  pi.write(V2);
  pi.abort();
  expect((await pi.a(V2)).returned).toEqual({});
});

test("reads of one answer see one another, in the order of the calls", async () => {
  const pi = withFile();
  pi.request();
  const ids = pi.call(...Array.from({ length: 3 }, () => ({ name: "read", args: { path: "a.txt" } })));
  const sent = await Promise.all(ids.map((id) => pi.answer(id, "a.txt", {}, V1)));
  expect(sent.map(({ text }) => UNCHANGED.test(text))).toEqual([false, true, true]);
  for (const [n, id] of ids.entries()) pi.append(id, sent[n] ?? { text: "", details: {} });
  expect((await pi.a()).text).toMatch(UNCHANGED);
  pi.request();
  const use = { name: "read", args: { path: "a.txt" } };
  const [first = "", second = ""] = pi.call(use, use);
  // The later call cannot rest on the earlier one if that one is answered after it.
  pi.branch.splice(0, pi.branch.length - 1);
  expect((await pi.answer(second, "a.txt", {}, V1)).text).toMatch(WHOLE);
  expect((await pi.answer(first, "a.txt", {}, V1)).text).toMatch(WHOLE);
});

test("a process that dies among the reads of an answer leaves nothing known", async () => {
  const pi = withFile();
  pi.request();
  const [id = ""] = pi.call({ name: "read", args: { path: "a.txt" } }, { name: "bash", args: {} });
  expect((await pi.answer(id, "a.txt", {}, V1)).text).toMatch(WHOLE);
  pi.restart();
  expect((await pi.a()).details).toMatchObject({ readcache: { mode: "full" } });
});

test("a text that is no longer sent is shown, whoever took it out", async () => {
  const pi = withFile();
  await pi.a();
  const again = async (prune?: (text: string) => string) => {
    pi.request(prune);
    const [id = ""] = pi.call({ name: "read", args: { path: "a.txt" } });
    return (await pi.answer(id, "a.txt", {}, V1)).text;
  };
  expect(await again()).toMatch(UNCHANGED);
  // Behind Belay: the messages still have it, and the payload does not.
  expect(await again((text) => text.slice(0, 100))).toMatch(WHOLE);
});

test("what another extension made of an answer counts for nothing", async () => {
  const pi = withFile();
  pi.request();
  const [id = ""] = pi.call({ name: "read", args: { path: "a.txt" } });
  const { text, details } = await pi.answer(id, "a.txt", {}, V1);
  pi.append(id, { text: text.replace("value7", "redacted"), details });
  expect((await pi.a()).details).toMatchObject({ readcache: { mode: "full" } });
});

test("own edits: one that was undone is shown, and one that failed ends trust", async () => {
  const pi = withFile();
  const edit = (isError: boolean) => {
    const [id = ""] = pi.call({ name: "edit", args: { path: "./a.txt" } });
    const message = { role: "toolResult", toolCallId: id, toolName: "edit", content: [{ type: "text", text: "." }] };
    pi.push({ type: "message", message: { ...message, isError } });
  };
  await pi.a();
  edit(false);
  expect((await pi.a()).details).toMatchObject({ readcache: { mode: "baseline_fallback" } });
  expect((await pi.a()).text).toMatch(UNCHANGED);
  edit(true);
  expect((await pi.a()).details).toMatchObject({ readcache: { mode: "full" } });
  // An edit of a process that died before there was a result.
  pi.call({ name: "edit", args: { path: "a.txt" } });
  expect((await pi.a()).details).toMatchObject({ readcache: { mode: "baseline_fallback" } });
});

test("lines at the end of a path are arguments, unless a file has the whole name", async () => {
  const pi = withFile({ files: { "b:3-2": "x" } });
  const called = async (path: string, more: object = {}) => {
    const input = { path, ...more };
    const answer = await pi.handler("tool_call")({ toolName: "read", input });
    return { answer, input };
  };
  expect(await called("a.txt:2-4")).toEqual({ answer: {}, input: { path: "a.txt", offset: 2, limit: 3 } });
  const reason = "Invalid range 3-2 in a.txt:3-2: lines count from 1, and the end is not before the start";
  expect((await called("a.txt:3-2")).answer).toEqual({ block: true, reason });
  for (const path of ["b:3-2", "none.txt:3-2", "a.txt"]) {
    expect(await called(path)).toEqual({ answer: {}, input: { path } });
  }
  expect((await called("a.txt:2-4", { limit: 1 })).input).toEqual({ path: "a.txt:2-4", limit: 1 });
});

test("the tool and the command have the next read show a file, or lines of it, also in the next process", async () => {
  const pi = withFile();
  const refreshed = async (args: object) => {
    const result = await pi.run(REFRESH_TOOL, "id", args, undefined, undefined);
    return JSON.parse(JSON.stringify(result)).content[0].text;
  };
  await pi.a();
  expect(await refreshed({ path: "a.txt" })).toBe("The next read of a.txt shows it whole.");
  pi.restart();
  expect((await pi.a()).text).toMatch(WHOLE);
  expect((await pi.a()).text).toMatch(UNCHANGED);
  expect(await refreshed({ path: "a.txt", offset: 2, limit: 3 })).toBe("The next read of a.txt:2-4 shows it whole.");
  expect((await pi.a(V1, { offset: 2, limit: 3 })).text).toMatch(/^const value2 /);
  expect((await pi.a(V1, { offset: 2, limit: 3 })).text).toMatch(/^\[readcache: unchanged in lines 2-4 of 61\]/);
  expect(await refreshed({ path: "a.txt", offset: 1, limit: 999 })).toBe("The next read of a.txt shows it whole.");
  await pi.run("/readcache-refresh", " a.txt 5-6 ");
  await pi.run("/readcache-refresh", "none.txt");
  await pi.run("/readcache-refresh", "a.txt 6-5");
  await pi.run("/readcache-refresh", "");
  expect(pi.told).toEqual([
    "The next read of a.txt:5-6 shows it whole.",
    "The next read of none.txt shows it whole.",
    expect.stringMatching(/^Invalid range 6-5 in a\.txt:6-5: .*\. Usage: \/readcache-refresh PATH \[START-END\]$/),
    expect.stringMatching(/^No path was given/),
  ]);
  const entries = pi.branch.filter(({ customType }) => customType === "pi-readcache").map(({ data }) => data);
  expect(entries).toHaveLength(5);
  expect(entries[3]).toMatchObject({ v: 1, kind: "invalidate", pathKey: pi.path("a.txt"), scopeKey: "r:5:6" });
});

test("the status tells what the model has, what was answered, and what went wrong", async () => {
  const pi = withFile({ hasUI: false });
  await pi.a();
  await pi.a();
  await pi.a(V1, { offset: 2, limit: 3 });
  await pi.left();
  await pi.run("/readcache-status", "");
  pi.restart();
  await pi.run("/readcache-status", "");
  const [before, page = ""] = pi.written;
  expect(page).toContain("known   2 scopes of 1 file that the model has\n  a.txt: whole, lines 2-4\n");
  expect(page).toContain("answers 1 whole, 1 unchanged, 1 unchanged in their lines, 0 as a diff, 0 whole again\n");
  expect(page).toMatch(/saved {3}~[4-6]\d\d tokens/);
  expect(before).toContain("texts   in Belay's store\n");
});

test("a store that cannot be opened costs a diff, and the status says why", async () => {
  const pi = withFile({ store: () => Promise.reject(new Error("the disk is full")) });
  await pi.a();
  pi.write(V2);
  expect((await pi.a(V2)).text).toMatch(DIFF);
  await pi.left();
  pi.restart();
  pi.write(V1);
  expect((await pi.a()).text).toMatch(WHOLE);
  await pi.left();
  await pi.run("/readcache-status", "");
  expect(pi.told.at(-1)).toContain("texts   the store failed: the disk is full");
});

test.for([{}, { read_cache: false }])("with %j nothing is registered and no read is looked at", async (settings) => {
  const pi = withFile({ settings });
  expect([...pi.registered().keys()]).toEqual([]);
  expect((await pi.a()).returned).toEqual({});
  const input = { path: "a.txt:2-4" };
  await pi.handler("tool_call")({ toolName: "read", input });
  expect(input).toEqual({ path: "a.txt:2-4" });
  expect(pi.told).toEqual([]);
});

test("settings that cannot be read turn it off, and one line says why", async () => {
  const problem = new RlmError("invalid_config", "/p/belay.json: read_cache must be true or false", { suggestion: "" });
  const pi = withFile({ settings: problem });
  expect((await pi.a()).returned).toEqual({});
  const cure =
    "Until it is corrected and /reload is typed, the rlm tools fail, no objects go outside, and the read cache is off.";
  expect(pi.told).toEqual([`RLM: /p/belay.json: read_cache must be true or false\n${cure}`]);
});

test("beside another cache's tool ours stays away", async () => {
  const pi = withFile({ tools: [REFRESH_TOOL] });
  expect(pi.registered().get(REFRESH_TOOL)).toEqual({});
  expect([...pi.registered().keys()].toSorted()).toEqual(["/readcache-refresh", "/readcache-status", REFRESH_TOOL]);
});

test("the tool and its guideline take at most 100 tokens of a request", () => {
  const { name, description, parameters, promptGuidelines, promptSnippet } =
    withFile().registered().get(REFRESH_TOOL) ?? {};
  expect(promptSnippet).toBeUndefined();
  const chars = JSON.stringify({ name, description, parameters }).length + JSON.stringify(promptGuidelines).length;
  expect(chars / 4).toBeLessThanOrEqual(100);
});
