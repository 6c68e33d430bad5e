import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type ModelScript, startModelServer } from "../../support/model-server.ts";
import { type JudgedSpan, judgedWhole, rejecting, startCollector, valuesOf } from "../../support/otlp.ts";
import { folderWith } from "../../support/tree.ts";
import { json, said } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const spansIn = (stdout: string) => judgedWhole(stdout.split("\n").filter((line) => line !== ""));
const operations = (spans: readonly JudgedSpan[]) =>
  spans.map(({ attributes }) => valuesOf(attributes)["gen_ai.operation.name"]);

/** A store with a session `one`: a cell that asks twice, and a second one that fails. */
async function storeWithOne(): Promise<string> {
  const home = join(folderWith(), "home");
  await using server = await startModelServer(() => ({ text: "yes" }));
  const flags = ["-s", "one", "--model", "local/scripted", "--base-url", server.url];
  const cell = "await llm_query_batch(['a', 'b'])";
  expect(await belayHere(["exec", "-e", cell, "-e", "missing()", ...flags], { home })).toMatchObject({ code: 1 });
  return home;
}

test("the spans of a session go to stdout and to a file, twice the same", async () => {
  const home = await storeWithOne();
  const shown = await belayHere(["show", "one", "--otlp", "-"], { home });
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  const spans = spansIn(shown.stdout);
  expect(operations(spans)).toEqual(["execute_tool", "chat", "chat", "execute_tool"]);
  expect(spans[3]?.status).toEqual({ code: 2, message: "js_error" });
  const file = join(folderWith(), "spans.jsonl");
  const written = await belayHere(["show", "one", "--otlp", file], { home });
  expect(written).toMatchObject({ code: 0, stdout: "", stderr: `wrote 4 spans to ${file}\n` });
  expect(readFileSync(file, "utf8")).toBe(shown.stdout);
  const [session] = [json(await belayHere(["show", "one", "--json"], { home })).session];
  expect(valuesOf(spans[0]?.attributes ?? [])["gen_ai.conversation.id"]).toBe(session.id);
});

test("a collector gets them with the headers of OpenTelemetry's variable, though it is busy twice", async () => {
  const home = await storeWithOne();
  await using collector = await startCollector((request) =>
    request === 0 ? { status: 503, headers: { "retry-after": "0" } } : request === 1 ? 429 : 200,
  );
  const env = { OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b%2Cc, x-team = blue" };
  const sent = await belayHere(["show", "one", "--otlp", collector.url], { home, env });
  expect(sent).toEqual({ code: 0, stdout: "", stderr: "sent 4 spans in 1 request\n" });
  expect(collector.seen).toHaveLength(3);
  for (const { path, headers } of collector.seen) {
    expect(path).toBe("/v1/traces");
    expect(headers).toMatchObject({ "x-key": "a b,c", "x-team": "blue", "content-type": "application/json" });
  }
  const elsewhere = await belayHere(["show", "one", "--otlp", `${collector.url}/otlp/v1/traces?x=1`], { home });
  expect([elsewhere.code, collector.seen.at(-1)?.path]).toEqual([0, "/otlp/v1/traces?x=1"]);
  expect(collector.taken()).toEqual([...spansIn(collector.seen[2]?.line ?? ""), ...(collector.seen[3]?.spans ?? [])]);
});

test("what a collector does not take is an error that names no key", async () => {
  const home = await storeWithOne();
  const secret = "canary-of-a-header";
  const env = { OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secret}` };
  for (const [answer, requests, reason] of [
    [400, 1, "the rest: 400"],
    [503, 3, "the rest: 503"],
    [302, 1, "redirects to http://127.0.0.1:1/stolen, and no redirect is followed"],
  ] as const) {
    const headers = { "retry-after": "0", location: "http://127.0.0.1:1/stolen" };
    await using collector = await startCollector(() => ({ status: answer, headers }));
    const failed = await belayHere(["show", "one", "--otlp", `${collector.url}?key=${secret}`], { home, env });
    expect(failed).toMatchObject(said(1, "took 0 spans in 0 requests, and not the rest: "));
    expect(failed.stderr).toContain(`${reason} (otlp_failed)`);
    expect(failed.stderr).toContain("`belay show one --otlp FILE` keeps the spans");
    expect(JSON.stringify(failed)).not.toContain(secret);
    expect(collector.seen).toHaveLength(requests);
  }
  const wrong = { OTEL_EXPORTER_OTLP_HEADERS: `two words=${secret}` };
  const unread = await belayHere(["show", "one", "--otlp", "http://127.0.0.1:4318"], { home, env: wrong });
  expect(unread).toMatchObject(said(1, "not the rest: OTEL_EXPORTER_OTLP_HEADERS"));
  await using gone = await startCollector();
  const { url } = gone;
  await gone[Symbol.asyncDispose]();
  expect(await belayHere(["show", "one", "--otlp", url], { home })).toMatchObject(said(1, "ECONNREFUSED"));
});

test("spans that a collector rejects are counted in a warning, and no words of it are told", async () => {
  const home = await storeWithOne();
  const bodies = [
    rejecting("3"),
    rejecting(2),
    rejecting(99),
    rejecting(-1),
    rejecting("x"),
    "null",
    "{",
    " ".repeat(1e6),
  ];
  await using collector = await startCollector((request) => ({ status: 200, body: bodies[request] ?? "" }));
  const warnings: string[] = [];
  for (const _ of bodies) {
    const { code, stderr } = await belayHere(["show", "one", "--otlp", collector.url], { home });
    expect([code, stderr.endsWith("sent 4 spans in 1 request\n")]).toEqual([0, true]);
    warnings.push(stderr.split("\n").slice(0, -2).join());
  }
  const rejected = [3, 2, 4].map((count) => `otlp_failed: the collector rejected ${count} of 4 spans`);
  expect(warnings).toEqual([...rejected, "", "", "", "", ""]);
});

test("of a damaged store the readable spans are exported, and the exit code is 1", async () => {
  const home = await storeWithOne();
  {
    using database = new DatabaseSync(join(home, "belay.db"));
    database.exec("UPDATE journal SET content = '{}' WHERE seq = (SELECT max(seq) FROM journal)");
  }
  await using collector = await startCollector();
  const damage = expect.stringMatching(/^error: record 8 of session \w+ is missing or damaged.* \(store_corrupt\)/);
  const shown = await belayHere(["show", "one", "--otlp", "-"], { home });
  expect(shown).toMatchObject({ code: 1, stderr: damage });
  const spans = spansIn(shown.stdout);
  // An exec that has lost its end is not over.
  expect(operations(spans)).toEqual(["execute_tool", "chat", "chat", "execute_tool"]);
  expect(valuesOf(spans[3]?.attributes ?? [])).toMatchObject({ "belay.unfinished": true });
  const sent = await belayHere(["show", "one", "--otlp", collector.url], { home });
  expect(sent).toMatchObject({ code: 1, stderr: damage });
  expect(collector.taken()).toEqual(spans);
});

test("a URL that is none, and flags that go with no spans, are refused", async () => {
  for (const url of ["http://", "ftp://host/x", "http://me:secret@127.0.0.1:4318"]) {
    const refused = await belayHere(["show", "one", "--otlp", url]);
    expect(refused).toMatchObject(said(2, "--otlp takes a file"));
    expect(refused.stderr).not.toContain("secret");
  }
  expect(await belayHere(["show", "one", "--otlp", "-", "--json"])).toMatchObject(said(2, "exclude each other"));
  const folder = folderWith();
  const home = await storeWithOne();
  expect(await belayHere(["show", "one", "--otlp", folder], { home })).toMatchObject(said(1, "output_failed"));
  expect(statSync(folder).isDirectory()).toBe(true);
});

test("a fork has a link to the exec that it began after, and so has a fork of the fork", async () => {
  const home = await storeWithOne();
  const export_ = async (name: string) => spansIn((await belayHere(["show", name, "--otlp", "-"], { home })).stdout);
  const fork = (from: string, name: string) => belayHere(["fork", from, "--name", name], { home });
  await fork("one", "two");
  await fork("two", "three");
  expect(await export_("two")).toEqual([]);
  for (const name of ["two", "three"]) await belayHere(["exec", "-e", "2", "-s", name], { home });
  const [one, two, three] = await Promise.all([export_("one"), export_("two"), export_("three")]);
  const last = one.findLast(({ name }) => name === "execute_tool rlm_exec");
  for (const spans of [two, three]) {
    expect(spans).toHaveLength(1);
    expect(spans[0]?.links).toEqual([{ traceId: last?.traceId, spanId: last?.spanId }]);
  }
  expect(two[0]?.spanId).not.toBe(three[0]?.spanId);
});

/** Texts that no span may have without the variable. */
const CANARIES = Array.from({ length: 40 }, (_, at) => `canary${at}x`);
const KEY = "sk-proj-Zk3vQ9xW2mB7tR5yN8pL4cF6hJ1dG0sA";

/** Writes canaries into everything that a person, a model or a cell can write. */
async function sown(): Promise<string> {
  const left = [...CANARIES];
  const next = () => left.shift() ?? "none";
  const home = join(folderWith(), "home");
  const documents = Array.from({ length: 5 }, () => [`${next()}.md`, `${next()} more`]);
  const first = { [`${next()}/${next()}.md`]: `${next()} ${KEY} text of P` };
  const folder = folderWith({ ...first, ...Object.fromEntries(documents) });
  const cells = [
    `const ${next()} = "${next()}"; print("${next()} ${KEY}"); console.error("${next()}"); ({ ${next()}: "${next()}" })`,
    `memory.put("${next()}", "${next()}"); helpers.add("${next()}", "function ${next()}() { return '${next()}' }")`,
    `await llm_query("${next()} ${KEY}", { tools: [], system: "${next()}" })`,
    `await llm_query_batch(["${next()}", "fail ${next()}"])`,
    `await llm_query("child ${next()}", { context: list_docs()[0] })`,
    `throw new TypeError("${next()}")`,
  ];
  const code = (source: string) => ({ tools: [{ id: "u", name: "rlm_exec", arguments: { code: source } }] });
  const answers = [next(), next(), next(), next(), next(), next()];
  const script: ModelScript = ({ prompt, body: { messages } }) => {
    if (prompt.startsWith("fail")) return { status: 400, body: JSON.stringify({ error: { message: answers[0] } }) };
    const isAsk = JSON.stringify(messages).includes("question of the ask");
    const isFirst = !messages.some(({ role }) => role === "assistant");
    if (isAsk && isFirst) return { ...code(`print("${answers[1]} ${KEY}"); "${answers[2]}"`), text: answers[3] ?? "" };
    return { text: `${isAsk ? answers[4] : answers[5]} ${KEY}` };
  };
  await using server = await startModelServer(script);
  const name = next();
  const flags = ["-s", name, "--model", `local/scripted`, "--base-url", server.url];
  const exec = ["exec", "-c", folder, "--label", next(), ...cells.flatMap((cell) => ["-e", cell]), ...flags];
  expect(await belayHere(exec, { home })).toMatchObject({ code: 1 });
  const question = `question of the ask ${next()} ${KEY}`;
  expect(await belayHere(["ask", question, "-s", name], { home })).toMatchObject({ code: 0 });
  expect(await belayHere(["query", `query ${next()}`, "-s", name], { home })).toMatchObject({ code: 0 });
  expect(left).toEqual([]);
  return home;
}

test("no span has a text, a path, a name or an error message, unless the variable lets texts in; keys not then either", async () => {
  const home = await sown();
  const { session } = json(await belayHere(["show", "--json"], { home }));
  expect(session.execs.map(({ kind }: { kind: string }) => kind).join(" ")).toBe(
    "load cell cell cell cell cell cell ask turn cell turn query",
  );
  const shown = JSON.stringify(session);
  expect(CANARIES.filter((canary) => !shown.includes(canary))).toEqual([]);
  const plain = await belayHere(["show", "--otlp", "-"], { home });
  expect(spansIn(plain.stdout).length).toBeGreaterThan(12);
  expect(plain.stdout).not.toMatch(/canary|sk-proj|text of P|question of/);
  const off = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "1" };
  expect((await belayHere(["show", "--otlp", "-"], { home, env: off })).stdout).toBe(plain.stdout);
  const on = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };
  const texts = await belayHere(["show", "--otlp", "-"], { home, env: on });
  spansIn(texts.stdout);
  expect(texts.stdout).toContain("question of the ask canary");
  expect(texts.stdout).toContain(`[redacted: ${KEY.length} characters]`);
  expect(texts.stdout).not.toContain(KEY.slice(0, 10));
});
