import { expect, test } from "vitest";
import { readWorkflow, workflowCell } from "../../../src/workflow/index.ts";
import { refusalOf } from "../../support/refusal.ts";
import { META, runScript } from "../../support/workflow.ts";

test("a cell begins with what was asked, whatever the settings of now are", () => {
  const script = readWorkflow(`${META}\nreturn args`, "w.js");
  const plain = workflowCell(script, { args: { a: 1 }, usual: "claude" });
  const other = workflowCell(script, { args: { a: 1 }, usual: "claude", agents: ["claude"], tokens: true });
  expect(other.asked).toBe(plain.asked);
  expect(other.source).not.toBe(plain.source);
  expect(other.source.startsWith(plain.asked)).toBe(true);
  expect(workflowCell(script, { args: { a: 2 }, usual: "claude" }).asked).not.toBe(plain.asked);
  expect(workflowCell(script, { args: { a: 1 } }).asked).not.toBe(plain.asked);
  expect(plain.asked).toMatch(/^\/\* workflow w: a trial \*\/ /);
});

test("a description cannot end the comment that a cell begins with", () => {
  const script = readWorkflow('export const meta = { name: "w", description: "a */ b\\nc" }', "w.js");
  expect(workflowCell(script).source).toMatch(/^\/\* workflow w: a \* \/ b c \*\/ /);
});

test("a script that is too large for a cell with its args is refused", () => {
  const script = readWorkflow(META, "w.js");
  const { code, message, suggestion } = refusalOf(() => workflowCell(script, { args: "x".repeat(300_000) }));
  expect(code).toBe("invalid_argument");
  expect(message).toMatch(/^the script and its args have 30\d KB \(limit 256 KB\)$/);
  expect(suggestion).toContain("file that agents read");
});

test("lines of the script are those of its file, with CRLF and types too", async () => {
  const plain = await runScript("\nfunction f() { throw new Error('here') }\n\nf()");
  expect(plain.envelope).toMatchObject({ success: false, error_message: "Error: here", line: 3, column: 26 });
  const typed = await runScript("\r\nconst f = (a: number): void => { throw new Error('here') }\r\nf(1)");
  expect(typed.envelope).toMatchObject({ success: false, line: 3 });
  expect(typed.lines).toContain("the script is TypeScript: its types were left out, and nothing checked them");
});

test("args come as they were given, or are undefined", async () => {
  const args = JSON.parse('{"__proto__": 1, "list": ["a", null, {"</script>": "$&"}], "text": "`$` \\u2028"}');
  const given = await runScript("const { list } = args; return [args, list.length]", () => "", { settings: { args } });
  expect(given.result).toEqual([args, 3]);
  expect((await runScript("return typeof args")).result).toBe("undefined");
});

test("a script may declare names that it has already, and returns nothing as null", async () => {
  const { result } = await runScript(
    "const log = (x) => x + 1; let phase = 2; function agent() { return 3 }\nreturn log(phase) + agent()",
  );
  expect(result).toBe(6);
  const nothing = await runScript("log('done')");
  expect(nothing.envelope).toMatchObject({ success: true, result_json: null });
  expect(nothing.lines).toEqual(["done"]);
});

test("of lines that are told once, 100 are printed, and the rest is counted", async () => {
  const { lines, result } = await runScript(
    "return (await parallel(Array.from({ length: 130 }, (_, n) => () => { throw new Error('no ' + n) }))).length",
  );
  expect(result).toBe(130);
  expect(lines).toHaveLength(101);
  expect(lines.slice(99)).toEqual([
    "parallel(): item 99 threw Error: no 99, and is null",
    "30 more lines like these were left out",
  ]);
});

test("a script that replaces builtins does not change what its functions do", async () => {
  const { result } = await runScript(
    "console.error = () => {}; Promise.all = () => 'none'; Array.isArray = () => false;\n" +
      "return await parallel([() => agent('x')])",
  );
  expect(result).toEqual(["yes"]);
});

test("a mistake in a call has its place in the script, and so has the call in a dry run", async () => {
  const { envelope, session } = await runScript("\nconst a = 1;\n  await agent(a)");
  expect(envelope).toMatchObject({ success: false, line: 4, column: 15 });
  expect("traceback" in envelope && envelope.traceback.split("\n")[1]).toBe("    at <anonymous> (<cell 1>:4:15)");
  const source = workflowCell(readWorkflow(`${META}\n\nawait agent('a')\nawait agent('b')`, "w.js")).source;
  const { estimate } = await session.dryRun(source);
  expect(estimate.sites.map(({ site }) => site.replace(/^.*:/, ""))).toEqual(["3", "4"]);
});

test("a script that misses its args is told that there are none", async () => {
  const { error } = await runScript("const { files } = args;\nreturn files");
  expect(error).toContain("; the run was given no args");
  expect((await runScript("return undefined.files")).error).not.toContain("args");
});
