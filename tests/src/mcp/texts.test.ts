import { readFileSync } from "node:fs";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../../runtime/index.ts";
import { REMEDIES } from "../../../runtime/remedies.ts";
import { answerOf, pageOf, shownBy } from "../../../src/mcp/answer.ts";
import { openProgressNotes, progressMessage } from "../../../src/mcp/call.ts";
import { configFor } from "../../../src/mcp/clients.ts";
import { listedTools } from "../../../src/mcp/listed-tools.ts";
import { namesOf } from "../../../src/mcp/session-source.ts";
import { failure, isFailureCode } from "../../../src/models/failure.ts";
import { noModelCure, refusalOf } from "../../../src/models/models.ts";
import { checkSessionName } from "../../../src/session/session-name.ts";
import { readArguments } from "../../../src/tools/rlm_load.ts";
import { openMovedClock } from "../../support/moved-clock.ts";

const tokens = (shown: unknown) => Math.ceil(JSON.stringify(shown).length / 4);

/** What a client puts into every conversation. */
const seen = (set: "core" | "workflow" | "all") =>
  listedTools(set).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));

test("the texts of the core tools take at most 1,750 tokens, those of all at most 2,300, and rlm_workflow 330", () => {
  expect(tokens(seen("core"))).toBeLessThanOrEqual(1_750);
  expect(tokens(seen("workflow")) - tokens(seen("core"))).toBeLessThanOrEqual(330);
  expect(tokens(seen("all"))).toBeLessThanOrEqual(2_300);
});

/** Every schema within a schema, with its path. */
function schemasIn(schema: unknown, path = ""): [path: string, schema: Record<string, unknown>][] {
  if (typeof schema !== "object" || schema === null) throw new Error(`${path} is not an object schema`);
  const own: Record<string, unknown> = { ...schema };
  const { properties = {}, items } = own;
  const inner = Object.entries(Object(properties)).flatMap(([key, value]) => schemasIn(value, `${path}.${key}`));
  return [[path, own], ...inner, ...(items === undefined ? [] : schemasIn(items, `${path}[]`))];
}

test("schemas are valid under draft 2020-12", () => {
  const validator = new AjvJsonSchemaValidator();
  const isSchema = validator.getValidator({ $ref: "https://json-schema.org/draft/2020-12/schema" });
  expect(isSchema({ type: "objet" })).toMatchObject({ valid: false });
  for (const { name, inputSchema } of [...listedTools("all"), ...listedTools("workflow")]) {
    expect(isSchema(inputSchema), name).toMatchObject({ valid: true });
    expect(validator.getValidator(inputSchema)([]), name).toMatchObject({ valid: false });
  }
});

test("schemas have no union and no boolean schema, and every parameter but value has one type", () => {
  for (const { name, inputSchema } of [...listedTools("all"), ...listedTools("workflow")]) {
    for (const [path, { type, ...others }] of schemasIn(inputSchema)) {
      const at = `${name}${path}`;
      expect(Object.keys(others), at).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(any|one|all)Of$/)]));
      if (!/\.(value|args)$/.test(path)) expect(type, at).toEqual(expect.any(String));
      else expect([type, others.description], at).toEqual([undefined, "any JSON value; a string stays a string"]);
    }
  }
});

test("tools say what they may do to the session and the world", () => {
  const all = [...listedTools("all"), ...listedTools("workflow")];
  const hints = Object.fromEntries(all.map(({ name, annotations }) => [name, annotations]));
  expect(hints.rlm_workflow).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
  expect(hints.rlm_load).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: false });
  expect(hints.rlm_wait).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
  expect(hints.rlm_exec).toEqual({ readOnlyHint: false, destructiveHint: false, openWorldHint: true });
  for (const name of ["rlm_status", "rlm_memory_get", "rlm_memory_list", "rlm_helpers_list"]) {
    expect(hints[name], name).toEqual({ readOnlyHint: true, openWorldHint: false });
  }
});

const SCHEMA = {
  type: "object",
  properties: {
    code: { type: "string" },
    limits: { type: "object", properties: { most: { type: "integer" } } },
    ops: { type: "array", items: { type: "object", properties: { n: { type: "number" }, value: {} } } },
    discard: { type: "boolean" },
    value: { description: "any" },
  },
};

test.each([
  [
    { code: "5", value: "5" },
    { code: "5", value: "5" },
  ],
  [{ limits: '{"most":"7"}' }, { limits: { most: 7 } }],
  [{ ops: '[{"n":"1.5","value":"[1]"}]' }, { ops: [{ n: 1.5, value: "[1]" }] }],
  [{ discard: "true" }, { discard: true }],
  [
    { discard: "yes", limits: "[1]" },
    { discard: "yes", limits: "[1]" },
  ],
  [{ other: "1" }, { other: "1" }],
])("arguments that came as text: %j", (given, read) => {
  expect(readArguments(SCHEMA, given)).toEqual(read);
});

test("null and an empty text stand for an optional parameter that is left out; a value without a type stays", () => {
  const schema = { ...SCHEMA, required: ["code"] };
  const seen = readArguments(schema, { code: "", limits: null, discard: "", value: null });
  expect(seen).toEqual({ code: "", value: null });
  expect(readArguments(schema, { code: null, other: null })).toEqual({ code: null, other: null });
});

test("an answer begins with what matters, and ends with long texts, ids and limits", () => {
  const ids = { session_id: "S", exec_id: "E" };
  const given = { ...ids, stdout: "x".repeat(300), limits_applied: {}, success: true, warnings: ["a"] };
  const order = (envelope: object, maxBytes = 40_000) =>
    Object.keys(
      JSON.parse(
        answerOf({ success: true, ...envelope }, [], "", { bytes: maxBytes, isEscaped: false }).content[0]?.text ?? "",
      ),
    );
  const rest = ["stdout", "exec_id", "session_id", "limits_applied"];
  const keys = order({ ...given, result_json: 1, truncated: false });
  expect(keys).toEqual(["success", "result_json", "warnings", "truncated", ...rest]);
  expect(order({ ...given, error_code: "js_error", error_message: "m", suggestion: "s" })).toEqual([
    ...["success", "warnings", "error_code", "error_message", "suggestion", "stdout", "exec_id", "session_id"],
    "limits_applied",
  ]);
  expect(order({ ...given, stdout: "x".repeat(9_000) }, 1_800)).toEqual(["success", "warnings", "stdout", "exec_id"]);
});

test.each([
  ["codex-mcp-client", 10_000],
  ["Cline", 7_800],
  ["qwen-code-mcp-client-belay", 1_800],
  ["claude-code", 40_000],
  ["opencode", 40_000],
  ["github-copilot-developer", 19_000],
  ["", 19_000],
])("an answer fits what %s shows its model, and pages have the whole of it", (client, most) => {
  const shown = shownBy(client, null);
  expect(shown.bytes).toBe(most);
  expect(shownBy(client, 5_000)).toEqual({ bytes: 5_000, isEscaped: false });
  const sizeOf = (text: string) => Buffer.byteLength(shown.isEscaped ? JSON.stringify(text) : text);
  const envelope = { success: true, exec_id: "E", result_json: { n: 1 }, stdout: 'é"😀\n'.repeat(20_000), budget: {} };
  const [{ text = "" } = {}] = answerOf(envelope, [], "Print slices.", shown).content;
  expect(sizeOf(text)).toBeLessThanOrEqual(most);
  expect(sizeOf(text)).toBeGreaterThan(most * 0.7);
  expect(JSON.parse(text)).toMatchObject({
    result_json: { n: 1 },
    warnings: [expect.stringMatching(/^answer_cut: stdout shows .* Print slices\. rlm_wait with from: 0 has it whole/)],
  });
  let whole = "";
  for (let page = pageOf(envelope, 0, shown); ; page = pageOf(envelope, Number(page.to), shown)) {
    expect(sizeOf(JSON.stringify(page))).toBeLessThanOrEqual(most);
    expect(page.from).toBe(whole.length);
    whole += page.text;
    if (page.suggestion === undefined) break;
    expect(page.suggestion).toBe(`rlm_wait with from: ${whole.length} has what follows.`);
  }
  expect(JSON.parse(whole)).toEqual(envelope);
});

const MAX_BYTES = 40_000;
const MOST = { bytes: MAX_BYTES, isEscaped: false };

test.each([["x"], ["語"], ["😀"], ['"']])("an answer of many %s is cut to the bytes that fit", (character) => {
  const envelope = { success: true, result_json: character.repeat(90_000), stdout: character.repeat(200_000) };
  const { content, isError } = answerOf(envelope, ["session_shared: x"], "Ask for less.", MOST);
  const [{ text = "" } = {}] = content;
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_BYTES);
  expect(Buffer.byteLength(text)).toBeGreaterThan(MAX_BYTES - 2_000);
  expect(text).not.toMatch(/\\ud[89a-f]/i);
  expect(isError).toBe(false);
  expect(JSON.parse(text).warnings).toEqual(["session_shared: x", expect.stringContaining("Ask for less.")]);
});

test.each([["x"], ["語"], ["😀"]])(
  "an answer of %s of as many bytes is kept whole; a byte more is cut",
  (character) => {
    const room = MAX_BYTES - Buffer.byteLength(JSON.stringify({ success: true, stdout: "" }));
    const bytes = Buffer.byteLength(character);
    const stdout = character.repeat(room / bytes) + "x".repeat(room % bytes);
    const told = (stdout: string) => answerOf({ success: true, stdout }, [], "", MOST).content[0]?.text ?? "";
    expect(told(stdout)).toBe(JSON.stringify({ success: true, stdout }));
    expect(Buffer.byteLength(told(stdout))).toBe(MAX_BYTES);
    expect(Buffer.byteLength(told(`${stdout}x`))).toBeLessThan(MAX_BYTES);
    expect(JSON.parse(told(`${stdout}x`)).warnings).toEqual([expect.stringMatching(/^answer_cut: /)]);
  },
);

test("suggestions name what a client's model can do", () => {
  const suggestion = "Give it up with `discard()`.";
  const [{ text = "" } = {}] = answerOf({ success: false, suggestion }, [], "", MOST).content;
  expect(JSON.parse(text).suggestion).toBe("Give it up with rlm_wait and discard: true.");
});

test("no cure has a client's model type a command: those are for its user", () => {
  const remedies = Object.values(REMEDIES).map((phrase) => phrase.replace("*", "NAME"));
  const failures = ERROR_CODES.filter(isFailureCode).map((code) => failure(code, "it failed").suggestion);
  const refused = refusalOf("openai/gpt-6-sol", "/nowhere", {})?.suggestion ?? "";
  for (const suggestion of [...remedies, ...failures, noModelCure({}), refused]) {
    const [{ text = "" } = {}] = answerOf({ success: false, suggestion }, [], "", MOST).content;
    const told: string = JSON.parse(text).suggestion;
    for (const clause of told.split(/[;.] /)) {
      if (TYPED.test(clause)) expect(clause, suggestion).toMatch(/\buser\b/);
    }
  }
  const names = ["answer", "calls", "connection", "call-runner", "status", "http-clients"];
  for (const name of names) {
    const lines = readFileSync(new URL(`../../../src/mcp/${name}.ts`, import.meta.url), "utf8").split("\n");
    const strings = lines.filter((line) => /["`]/.test(line) && /\bbelay [a-z]/.test(line));
    for (const line of strings) expect(line, name).toMatch(/\buser\b/);
  }
});

/** Lines of a shell and of Pi, and flags of this server. Those of a model's server stand behind its name. */
const TYPED = /\bbelay [a-z]|\/login|\bnpx\b|(?<!vLLM |llama-server )--[a-z]/;

test("progress says what was done, in at most 200 characters", () => {
  const counts = { waiting: 0, left: 41, held_tokens: 0, held_cost_usd: 0 };
  const calls = { kind: "calls", done: 7, running: 2, tokens: 18_412, cost_usd: 0.03, ...counts } as const;
  const nothing = { turn: null, child: null, calls: null, load: null, notice: null };
  const tally = { name: "rlm_exec", elapsed_ms: 12_000, ...nothing };
  expect(progressMessage({ ...tally, calls })).toBe("7 done · 2 running · 41 left · 18k tokens · $0.030");
  const more = { ...tally, calls: { ...calls, waiting: 3 } };
  expect(progressMessage(more)).toBe("7 done · 2 running · 3 waiting · 41 left · 18k tokens · $0.030");
  const agents = { made: 12, running: 0, done: 12, failed: 0 };
  const phases = [
    { phase: "Find\u001b[2J", ...agents },
    { phase: null, made: 9, running: 2, done: 3, failed: 1 },
  ];
  expect(progressMessage({ ...tally, calls: { ...calls, phases } })).toBe(
    "Find\\x1b[2J 12 of 12 · 3 of 9 agents, 1 failed · 18k tokens · $0.030",
  );
  const turn = { kind: "turn", depth: 0, path: [], turn: 3, of: 20, phase: "ran", cells: 2, sub_calls: 9 } as const;
  const detail = { text: "", cells: [] };
  const asking = { ...tally, calls, turn: { ...turn, model: "a/b", detail, tokens: 4_000, cost_usd: 0 } };
  expect(progressMessage(asking)).toBe("turn 3 of 20 · 7 done · 2 running · 41 left · 18k tokens · $0.030");
  expect(progressMessage({ ...tally, load: { files: 3, bytes: 2048 } })).toBe("3 files · 2.0 KB");
  expect(progressMessage(tally)).toBe("rlm_exec runs, 12 s");
  expect(Array.from(progressMessage({ ...tally, notice: "😀".repeat(900) }))).toHaveLength(200);
});

test("progress is told once a second at most, and every ten seconds at least", () => {
  const clock = openMovedClock();
  const sent: number[] = [];
  const notes = openProgressNotes(clock, () => void sent.push(clock.now()));
  for (; clock.now() <= 25_000; clock.move(100)) {
    if (clock.now() < 3_000) notes.tell();
  }
  expect(sent).toEqual([1_000, 2_000, 3_000, 13_000, 23_000]);
  notes[Symbol.dispose]();
  clock.move(60_000);
  expect(sent).toHaveLength(5);
});

test("the other names of a session are names that a session can have", () => {
  expect(namesOf("mcp-0123456789ab")).toHaveLength(9);
  for (const name of namesOf("mcp-0123456789ab")) checkSessionName(name);
});

const STARTED = {
  args: ["mcp", "--root", '/a "b"'],
  secrets: ["ANTHROPIC_API_KEY"],
  env: { BELAY_HOME: "/h" },
  url: null,
};

// docs.test.ts has the entry of each client.
test("the entry of Cursor is JSON with the variable by name", () => {
  const env = { BELAY_HOME: "/h", ANTHROPIC_API_KEY: `\${env:ANTHROPIC_API_KEY}` };
  const entry = { command: "belay", args: STARTED.args, env };
  expect(JSON.parse(configFor("cursor", STARTED)).mcpServers.belay).toMatchObject(entry);
});

test("the entry of Codex is TOML with the variable by name", () => {
  expect(configFor("codex", STARTED)).toBe(
    `[mcp_servers.belay]\ncommand = "belay"\nargs = ["mcp","--root","/a \\"b\\""]\nenv_vars = ["ANTHROPIC_API_KEY"]\ntool_timeout_sec = 300\n# Codex asks before each call, and \`codex exec\` refuses calls that it would ask about. Delete this line to be asked.\ndefault_tools_approval_mode = "approve"\n\n[mcp_servers.belay.env]\nBELAY_HOME = "/h"\n`,
  );
});
