import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { fauxAssistantMessage, fauxToolCall } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import { runCommand } from "../../../../src/pi/view/commands.ts";
import { openControl } from "../../../../src/pi/view/control.ts";
import type { CommandContext } from "../../../../src/pi/view/verb.ts";
import { type FakePi, type Life, startedPi } from "../fake-pi.ts";

const HOSTILE = "\u001b]0;owned\u0007 a\u202eb";

/** Runs `/rlm LINE` on the branch; answers what was said. Pi draws `custom` only if a terminal is asked for. */
async function ran(line: string, pi: FakePi, { lifecycle }: Life, given: { hasUI?: boolean; terminal?: boolean } = {}) {
  const actions = { appendEntry() {}, getActiveTools: () => [], setActiveTools() {} };
  const control = openControl(lifecycle, actions, { HOME: pi.folder, BELAY_HOME: pi.folder });
  const said: string[] = [];
  const asked: string[] = [];
  const drawn: string[] = [];
  const custom: CommandContext["ui"]["custom"] = async (factory) => {
    if (!given.terminal) return JSON.parse("null");
    const component = await Promise.resolve(Reflect.apply(factory, null, [TUI, PAINT, {}, () => {}]));
    drawn.push(...component.render(100));
  };
  const ui = {
    notify: (text: string, type = "info") => void said.push(type === "info" ? text : `${type}: ${text}`),
    select: async () => undefined,
    confirm: async (title: string) => asked.push(title) > 0,
    custom,
  };
  const context = { cwd: pi.folder, hasUI: given.hasUI ?? true, ui, isIdle: () => true, compact() {} };
  await runCommand(line, control, context, { now: () => Date.now(), write: (text) => void said.push(text) });
  return { said: said.join("\n"), asked, drawn: drawn.map((row) => row.trimEnd()) };
}

const PAINT = { fg: (_colour: string, text: string) => text, bold: (text: string) => text };
const TUI = { terminal: { rows: 60, columns: 100 }, requestRender() {} };

/** A branch on which things were said and run; of a cell in an ask a child answers a call, if there are asks. */
async function used({ asks = false } = {}) {
  const { pi, life } = await startedPi({ "a.txt": "alpha\n", [`b${HOSTILE}.txt`]: "beta\n" });
  const user = (text: string) =>
    pi.branch.push({ type: "message", message: { role: "user", content: text, timestamp: pi.branch.length } });
  user(`Look at ${HOSTILE}`);
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses([fauxAssistantMessage(`answer ${HOSTILE}`)]);
  await life.call("rlm_exec", { code: `result = await llm_query("prompt ${JSON.stringify(HOSTILE).slice(1, -1)}")` });
  if (asks) {
    const cell = (code: string) => fauxAssistantMessage(fauxToolCall("rlm_exec", { code }), { stopReason: "toolUse" });
    const child = [cell("print(P)"), cell(`answer("from the child")`)];
    pi.faux.setResponses([cell("print(1)"), cell(`answer(await llm_query("child?", { context: "text" }))`), ...child]);
    await life.call("rlm_ask", { question: "Which?" });
  }
  await life.call("rlm_exec", { code: "nope()" });
  return { pi, life };
}

test("trace has epochs, compactions, and each sub-call under what made it; its file has prompts and answers as well", async () => {
  const { pi, life } = await used({ asks: true });
  pi.branch.push({ type: "compaction", id: "c", summary: "s", firstKeptEntryId: "none", tokensBefore: 190_000 });
  const { said } = await ran("trace", pi, life);
  const lines = said.split("\n");
  expect(lines[0]).toMatch(/^\d+ of \d+ objects outside · .* · next request [\d.k]+ of [\d.]+[kM]$/);
  const places = ["epochs", "compactions", "calls"].map((head) => lines.indexOf(head));
  expect(places).toEqual([...places].toSorted((a, b) => a - b));
  expect(said).toContain("  by Pi  190k tokens before");
  expect(said).toMatch(/^ {4}1 load {2}ok/m);
  expect(said).toMatch(
    /^ {4}2 cell {2}ok {2}1 call · .*\n {6}1 llm_query {2}ok {2}faux\/f · .* prompt \\x1b\]0;owned/m,
  );
  const tree = [
    /^ {4}3 ask {2}ok .* Which\?$/,
    /^ {6}turn 1 {2}ok /,
    /^ {8}5 cell {2}ok .* print\(1\)$/,
    /^ {6}turn 2 {2}ok /,
    /^ {8}7 cell {2}ok {2}1 call · /,
    /^ {10}1 llm_query {2}ok .* child\?$/,
    /^ {12}child \w{8} {2}2 turns · 0 sub-calls$/,
    /^ {14}1 load {2}ok /,
    /^ {14}2 ask {2}ok /,
    /^ {16}turn 1 {2}ok /,
  ];
  const at = lines.findIndex((line) => line.includes(" ask "));
  for (const [n, shape] of tree.entries()) expect(lines[at + n]).toMatch(shape);
  expect(said).toMatch(/^ {4}\d cell {2}js_error .*nope\(\)$/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(said).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  const file = join(pi.folder, "trace.jsonl");
  const { said: written, asked } = await ran("trace --jsonl trace.jsonl", pi, life);
  expect(asked).toEqual([`Write ${file}?`]);
  expect(written).toMatch(/^\d+ records written to \/.*trace\.jsonl$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const records = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(records).toHaveLength(Number.parseInt(written, 10));
  const calls = records.filter(({ record }) => record === "call");
  expect(calls).toContainEqual(expect.objectContaining({ prompt: `prompt ${HOSTILE}`, answer: `answer ${HOSTILE}` }));
  const asking = calls.find(({ child }) => child !== null);
  expect(records).toContainEqual(
    expect.objectContaining({ record: "session", session: asking.child, parent_call: asking.call_id }),
  );
  expect(records.some(({ record, session }) => record === "exec" && session === asking.child)).toBe(true);
  const before = readFileSync(file, "utf8");
  expect((await ran("trace --jsonl trace.jsonl", pi, life)).said).toBe(
    `error: ${file} already exists\nName another file.`,
  );
  expect(readFileSync(file, "utf8")).toBe(before);
  await life.leave();
});

test("trace --jsonl says what it lacks, and asks nobody who is not there", async () => {
  const { pi, life } = await startedPi();
  expect((await ran("trace --jsonl", pi, life)).said).toBe(
    "error: the name of the file is missing\n/rlm trace --jsonl FILE",
  );
  expect((await ran("trace --json x", pi, life)).said).toContain("/rlm trace does not take --json x");
  expect((await ran("trace --jsonl no/x.jsonl", pi, life)).said).toContain("cannot be written (ENOENT)");
  const silent = { hasUI: false };
  expect((await ran("trace --jsonl x.jsonl", pi, life, silent)).said).toBe(
    "the question needs a user interface\nAdd --yes.\n",
  );
  expect(existsSync(join(pi.folder, "x.jsonl"))).toBe(false);
  expect((await ran("trace --jsonl x.jsonl --yes", pi, life, silent)).said).toMatch(/^1 record written/);
  await life.leave();
});

test("store lists texts and documents, and words choose some", async () => {
  const { pi, life } = await used();
  const { said } = await ran("store", pi, life);
  expect(said).toMatch(/^rlm-obj-[0-9a-f]{12} {2}in +tool_output +\d+ tokens +rlm_exec: /m);
  expect(said).toMatch(/^rlm-obj-[0-9a-f]{12} {2}P +file +2 tokens +a\.txt$/m);
  expect(said).not.toContain("\u001b");
  // Words stand in the texts, of the conversation as of P, or in the rows.
  const [head = "", ...lines] = (await ran("store ALPHA", pi, life)).said.split("\n");
  expect(head).toContain("objects outside");
  expect(lines).toEqual([expect.stringMatching(/a\.txt$/)]);
  const both = (await ran("store tool_output nope", pi, life)).said.split("\n");
  expect(both).toEqual([head, expect.stringMatching(/ tool_output .* rlm_exec: /)]);
  expect((await ran("store nowhere", pi, life)).said).toMatch(/\nnothing has nowhere$/);
  for (let n = 0; n < 60; n++) {
    pi.branch.push({ type: "message", message: { role: "user", content: `line ${n}`, timestamp: 1000 + n } });
  }
  const many = (await ran("store", pi, life)).said.split("\n");
  expect(many).toHaveLength(42);
  expect(many[1]).toMatch(/user: line 59$/);
  expect(many.at(-1)).toMatch(/^… \d+ older ones: \/rlm store WORDS looks for some$/);
  await life.leave();
});

test("inspect draws in a terminal, and says the same elsewhere", async () => {
  const { pi, life } = await used();
  const { said, drawn } = await ran("inspect", pi, life, { terminal: true });
  expect(said).toBe("");
  expect(drawn).toEqual(expect.arrayContaining(["RLM inspector", "  epochs", "  calls"]));
  const text = (await ran("inspect", pi, life)).said;
  expect(text).toMatch(/^objects of the conversation, the newest first\n {2}rlm-obj-/m);
  expect(text.match(/next request/g)).toHaveLength(1);
  expect((await ran("inspect", pi, life, { hasUI: false })).said).toBe(`${text}\n`);
  await life.leave();
});

test("what the store has lost is said, and the rest is shown", async () => {
  const { pi, life } = await used();
  await life.leave();
  const home = join(pi.folder, "elsewhere");
  mkdirSync(home);
  const next = await pi.start({ env: { BELAY_HOME: home } });
  expect((await ran("trace", pi, next)).said).toMatch(/^ {2}session \w+\n {4}session_not_found: /m);
  const broken = join(pi.folder, "broken");
  writeFileSync(broken, "a file where the store should be");
  const last = await pi.start({ env: { BELAY_HOME: broken } });
  const { said } = await ran("inspect", pi, last);
  expect(said).toMatch(/^ {2}session \w+\n {4}store_failed: /m);
  expect(said).toContain("objects of the conversation");
});

/** The head of a page that was written. */
const headIn = (path: string) =>
  JSON.parse(
    gunzipSync(Buffer.from(/id="head">([^<]*)/.exec(readFileSync(path, "utf8"))?.[1] ?? "", "base64")).toString(),
  );

test("view writes the session of the branch as a page, for this user alone, after a question", async () => {
  const { pi, life } = await used();
  const file = join(pi.folder, "rlm-trace.html");
  const { said, asked } = await ran("view", pi, life);
  expect(asked).toEqual([`Write ${file}?`]);
  expect(said).toMatch(/^\/.*rlm-trace\.html is written: 1 call, \d+\.\d KB\. A browser opens it\.$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const head = headIn(file);
  expect(head).toMatchObject({ trace: 2, texts: "all", calls: 1 });
  expect(head.execs.map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`)).toEqual([
    ...["load ok", "cell ok", "cell failed"],
  ]);
  // A page may be replaced, and nobody is asked about one without texts.
  const bare = await ran("view rlm-trace.html --no-texts", pi, life, { hasUI: false });
  expect(bare).toMatchObject({ asked: [], said: expect.stringContaining("KB, texts left out. A browser opens it.") });
  expect(headIn(file)).toMatchObject({ texts: "none", session: { name: null } });
  expect(readFileSync(file, "utf8")).not.toContain('id="x0"');
});

test("view leaves other files alone, asks nobody who is not there, and says if there is nothing to show", async () => {
  const { pi, life } = await used();
  writeFileSync(join(pi.folder, "notes.html"), "mine");
  expect((await ran("view notes.html", pi, life)).said).toMatch(
    /^error: \/.*notes\.html already exists, and is not a page of a session\nName another file: \/rlm view FILE$/,
  );
  expect(readFileSync(join(pi.folder, "notes.html"), "utf8")).toBe("mine");
  const silent = { hasUI: false };
  expect((await ran("view a.html", pi, life, silent)).said).toBe("the question needs a user interface\nAdd --yes.\n");
  expect(existsSync(join(pi.folder, "a.html"))).toBe(false);
  expect((await ran("view --yes a b.html", pi, life, silent)).said).toContain("/a b.html is written: ");
  expect((await ran("view no/a.html --yes", pi, life)).said).toMatch(/^error: .*the folder .*\/no does not exist/);
  const fresh = await startedPi({});
  expect((await ran("view --yes", fresh.pi, fresh.life)).said).toMatch(/^RLM was not used on this branch/);
  expect(existsSync(join(fresh.pi.folder, "rlm-trace.html"))).toBe(false);
});
