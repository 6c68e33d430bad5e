import { expect, test } from "vitest";
import { showAsk } from "../../../../src/cli/render/ask.ts";
import { outputOver } from "../../../../src/cli/render/terminal.ts";
import { contextParts } from "../../../../src/session/index.ts";
import { lookAt } from "../../../../src/view/session-trace.ts";
import { contextOf, convertedFile, textFile } from "../../../support/converted.ts";
import { openScripted, using } from "../../../support/scripted-session.ts";

test("an ask cites pages, rows and lines, and so do terminal and page", async () => {
  const pages = ["nothing here\n", "the code is [p.99] 4711\n"].map((body, n) => ({ label: `p.${n + 1}`, body }));
  const rows = { label: "Sales", body: "a\t1\nb\t2\n", firstRow: 5 };
  const context = await contextOf([
    convertedFile("report.pdf", pages),
    convertedFile("sales.xlsx", [rows], { kind: "xlsx" }),
    textFile("a.txt", "one\ntwo 4711\n"),
  ]);
  const cell = `const cite = ["4711", "b\\t2", "two"].flatMap((words) => find(words).matches);
    answer(find("4711", "", { docs: true }).matches.map(({ place }) => place ?? "text"), { cite: cite.slice(0, 4) });`;
  const { session, store } = await openScripted(
    () => using("rlm_exec", { code: cell }),
    {},
    undefined,
    contextParts(context),
  );
  const envelope = await session.ask("Which code?");
  expect(envelope).toMatchObject({ success: true, answer: ["p.2", "text"] });
  const cited = envelope.success ? envelope.citations.map(({ doc, line, place }) => [doc, line, place]) : [];
  expect(cited).toEqual([
    ["report.pdf", 4, "p.2"],
    ["a.txt", 2, null],
    ["sales.xlsx", 3, "Sales!6"],
    ["a.txt", 2, null],
  ]);
  const said: string[] = [];
  const output = outputOver({ write: (text: string) => said.push(text) > 0, isTTY: false, columns: 80 }, {});
  showAsk(envelope, { stdout: output, stderr: output });
  expect(said.join("")).toContain("report.pdf p.2 4711\na.txt:2 4711\nsales.xlsx Sales!6 b 2\n");
  const hits = await session.exec('search("code", 2).map(({ doc_id, place }) => [doc_id, place])');
  expect(hits.result_json).toEqual([["report.pdf", "p.2"]]);
  const { trace } = await lookAt(store, session.id, { texts: true, maxBytes: 2 ** 20, belay: "0.0.0", now: 0 });
  const shown = trace.head.execs.find(({ kind }) => kind === "ask")?.ask?.citations;
  expect(shown?.map(({ place }) => place)).toEqual(["p.2", null, "Sales!6", null]);
});

test.each([
  ["There are 2 errors [1].", ["citations_unlisted: 1"]],
  ["There are 2 errors.[^1]", ["citations_unlisted: [^1]"]],
  ["There are 2 errors 【4:0†a.log】.", ["citations_unlisted: 【4:0†a.log】"]],
  ["There are 2 errors [1].\n\n[1] a.log, line 1", []],
  ["The values are [1, 2], and P[1] is one.", []],
  ["It says two [7] there.", []],
])("marks of citations in %j are told if nothing lists them", async (answer, warnings) => {
  const context = await contextOf([textFile("a.log", "one\nIt says two [7] there.\n")]);
  const cell = `print(P.length); answer(${JSON.stringify(answer)})`;
  const turns = [using("rlm_exec", { code: "print(P)" }), using("rlm_exec", { code: cell })];
  const { session } = await openScripted(() => turns.shift() ?? "none", {}, undefined, contextParts(context));
  expect((await session.ask("How many?")).warnings).toEqual(warnings);
});

test("a citation that names another document, or a line beyond its place, is not valid", async () => {
  const context = await contextOf([textFile("a.log", "one\ntwo\n"), textFile("b.log", "three\n")]);
  const cites = ['doc: "a.log", line: 1', 'doc: "b.log"', "line: 2", 'doc_id: "a.log"'];
  const cell = `answer("1", { cite: [${cites.map((one) => `{ start: P.indexOf("one"), end: P.indexOf("one") + 3, ${one} }`)}] })`;
  const turns = [using("rlm_exec", { code: "print(P)" }), using("rlm_exec", { code: cell })];
  const { session } = await openScripted(() => turns.shift() ?? "none", {}, undefined, contextParts(context));
  const envelope = await session.ask("How many?");
  expect(envelope.success && envelope.citations.map(({ valid }) => valid)).toEqual([true, false, false, true]);
});
