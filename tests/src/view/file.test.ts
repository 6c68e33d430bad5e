import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { describeExecs } from "../../../src/history/index.ts";
import { listedDocuments, sumCoverage } from "../../../src/session/journal/coverage-sums.ts";
import { fileOf } from "../../../src/view/file.ts";
import { type PageSource, pageSource } from "../../../src/view/page-source.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { sessionOf } from "../../support/ask/described.ts";
import { openJournal } from "../../support/ask/journal.ts";
import { textsIn, traced } from "../../support/view/traced.ts";

let source: PageSource = { script: "", style: "" };
beforeAll(async () => {
  source = await pageSource();
});

const fileWith = (trace: Parameters<typeof fileOf>[0]) => [...fileOf(trace, source)].join("");

/** A session with this text in every place that can have one. */
function sessionWith(text: string, tail = "") {
  const journal = openJournal(0);
  const value = `${text}${tail}`;
  journal.start("load", "load", { path: value });
  journal.end("load", "load");
  journal.start("cell", "cell", value, { name: value });
  journal.call("cell", 1, "llm_query", [value, null, { id: 1 }]);
  journal.result("cell", 1, "llm_query", value);
  journal.call("cell", 2, "llm_query", [value, { note: value, model: value }]);
  const failed = { success: false, misfit: value, model: value };
  journal.result("cell", 2, "llm_query", { code: "timeout", message: value }, failed);
  journal.call("cell", 3, "llm_query", [value]);
  journal.result("cell", 3, "llm_query", { code: value, message: value }, { success: false });
  const state = { output: { stdout: value, stderr: value, truncated: false }, warnings: [value] };
  const end = { kind: "ok", result: JSON.stringify({ [value]: value }) };
  journal.end("cell", "cell", JSON.parse(JSON.stringify({ state, end })));
  const ask = { question: value, settings: { model: "a/b" } };
  journal.start("ask", "ask", ask);
  journal.start(
    "turn",
    "turn",
    { turn: 1, closing: false, protocol: "tools", messages: [{ text: value }] },
    { ask: "ask" },
  );
  journal.call("turn", 1, "root");
  journal.result("turn", 1, "root", { text: value });
  journal.end("turn", "turn");
  const place = { valid: true, doc: value, line: 1, start: 0, end: 9, p_start: 0, p_end: 9, quote: value };
  journal.end("ask", "ask", { answer: { value, answered_by: "answer", citations: [place], warnings: [value] } });
  journal.start("bad", "cell", value);
  journal.end("bad", "cell", { success: false, error_code: "js_error", error_message: value });
  const context = { hash: "f".repeat(64), chars: 9, sources: [value] };
  const settings = { cwd: value, settings: { max_cost_usd: 2, model: "a/b" } };
  return sessionOf(describeExecs(journal.records), { name: value, label: value, context, settings, damaged: [value] });
}

/** The same text as the name of a document that nobody opened. */
const coveredWith = (id: string) =>
  sumCoverage({ hash: "f", length: 9, documents: listedDocuments([{ id, start: 0, end: 9 }]) }, []);

/** The file without its data. */
const shell = (file: string) =>
  file.replaceAll(/(<script type="text\/plain" id="\w+">)[A-Za-z0-9+/=]*(<\/script>)/g, "$1$2");

const HOSTILE = ["</script><img src=x onerror=alert(1)>", "<!--<script>", "\u2028", "\ud800", "\0", "]]>", "\"'`$&"];

test("no text of a session stands in the file outside its data, and none is lost", () => {
  const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: anyCharacter }));
  const empty = shell(fileWith(traced(sessionWith(""), { covered: coveredWith("") })));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (parts) => {
      const value = parts.join("");
      const trace = traced(sessionWith(value), { covered: coveredWith(value) });
      expect(shell(fileWith(trace))).toBe(empty);
      expect(textsIn(trace)[0]?.[0]?.isWellFormed()).toBe(value.isWellFormed());
    }),
    { numRuns: 12 },
  );
});

test("the policy names the script and the style that stand in the file, and the file asks nothing of the net", () => {
  const file = shell(fileWith(traced(sessionWith("x"))));
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(file)?.[1] ?? "";
  const [, script = ""] = /<script>(.*?)<\/script>/s.exec(file) ?? [];
  const [, style = ""] = /<style>(.*?)<\/style>/s.exec(file) ?? [];
  const digest = (text: string) => `'sha256-${hash("sha256", text, "base64")}'`;
  expect(policy).toBe(
    `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`,
  );
  expect([script.length, style.length]).toEqual([source.script.length, source.style.length]);
  expect(file).not.toMatch(/https?:/);
  expect(file.match(/ (?:src|href|on\w+)=/g)).toBeNull();
});

test("the page is small, and no part of it can make markup or code of a text", async () => {
  expect(source.script.length).toBeLessThan(52 * 1024);
  expect(source.style.length).toBeLessThan(8 * 1024);
  const banned =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setHTML|createContextualFragment/;
  const files = await Array.fromAsync(glob("src/view/page/*.ts"));
  expect(files.length).toBeGreaterThan(8);
  for (const path of files) expect(readFileSync(path, "utf8"), path).not.toMatch(banned);
});

/** Everything that a page decodes of a file. */
function decoded(file: string): string {
  const blocks = file.matchAll(/<script type="text\/plain" id="[hx]\w*">([A-Za-z0-9+/=]*)</g);
  return [...blocks].map(([, data = ""]) => gunzipSync(Buffer.from(data, "base64")).toString()).join("\n");
}

test("without texts no text of a session is in the file: figures, codes and hashes are", () => {
  const canary = "canary-4711";
  expect(
    decoded(fileWith(traced(sessionWith(canary), { covered: coveredWith(canary) }))).split(canary).length,
  ).toBeGreaterThan(20);
  const bare = decoded(fileWith(traced(sessionWith(canary), { texts: false, covered: coveredWith(canary) })));
  expect(bare).not.toContain("canary");
  for (const kept of ['"timeout"', '"js_error"', '"a/b"', "f".repeat(64), '"01X"']) expect(bare).toContain(kept);
  expect(JSON.parse(bare)).toMatchObject({ texts: "none", chunks: [], session: { name: null, budget_usd: 2 } });
});

const KEYS = [
  ...["sk-abcdefghijklmnopqrstuvwxyz123456", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE"],
  ...[`github_pat_${"a1".repeat(20)}`, "xoxb-123456789012-abcdef", `AIza${"b".repeat(35)}`],
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${"c".repeat(20)}`,
  "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
];

test("keys are in no part of the file, and the texts beside them are whole", () => {
  for (const key of KEYS) {
    const covered = coveredWith(key);
    const trace = traced(sessionWith(`before ${key} `, "after"), { covered });
    const all = decoded(fileWith(trace)).replaceAll("\\n", "\n");
    // The name of a session and of a model are no texts, and lines for the shell need them as they are.
    expect(all.split(key).length - 1, key).toBeLessThanOrEqual(1);
    expect(textsIn(trace)[0]?.[0]).toMatch(/^before \[redacted: \d+ characters\] after$/);
    expect(trace.head.redacted).toBeGreaterThan(8);
  }
});
