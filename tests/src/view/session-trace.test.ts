import { expect, test } from "vitest";
import { textFromString } from "../../../src/context/index.ts";
import type { ModelAnswer } from "../../../src/models/index.ts";
import { lookAt, surroundings } from "../../../src/view/session-trace.ts";
import { textFile } from "../../support/converted.ts";
import { largeContext } from "../../support/large-context.ts";
import { openScripted, USAGE } from "../../support/scripted-session.ts";
import { folderWith } from "../../support/tree.ts";
import { textsIn } from "../../support/view/traced.ts";

const TRACING = { texts: true, maxBytes: 2 ** 25, belay: "0.0.0", now: 0 };

/** A turn that runs this cell. */
const cell = (code: string): ModelAnswer => ({
  ok: true,
  usage: USAGE,
  charged: true,
  turn: { text: "I look.", toolUses: [{ id: "u", name: "rlm_exec", arguments: { code } }], stop: "tools", raw: null },
});

test("a citation has the text around it, from the store, and the quote in its place", async () => {
  const { session, store } = await openScripted(() =>
    cell("answer('it is there', { cite: [[5000, 5010], [3, 8], [9, 2]] })"),
  );
  const text = Array.from({ length: 2000 }, (_, at) => `w${at}`).join(" ");
  await session.load({ text, name: "words" });
  expect(await session.ask("Where?")).toMatchObject({ success: true });
  const { trace, damaged } = await lookAt(store, session.id, TRACING);
  expect(damaged).toEqual([]);
  const at = trace.head.execs.findIndex(({ kind }) => kind === "ask");
  const ask = trace.head.execs[at]?.ask;
  expect(textsIn(trace)[trace.head.calls + at]).toEqual(["Where?", "", "", "", "", "it is there"]);
  // The third is no place of P.
  expect(ask?.citations).toMatchObject([
    {
      doc: "words",
      line: 1,
      quote: text.slice(5000, 5010),
      around: { at: 2000, length: 10, text: text.slice(3000, 7010) },
    },
    { quote: text.slice(3, 8), around: { at: 3, length: 5, text: text.slice(0, 2008) } },
  ]);
  expect(ask?.citations.map(({ number }) => number)).toEqual([1, 2]);
  expect(ask?.notes).toEqual(["1 citation named no place of the context, or words that do not stand there"]);
  expect(trace.head.coverage?.told).toMatch(/^shown at least 0 % of 11k characters/);

  const bare = await lookAt(store, session.id, { ...TRACING, texts: false });
  expect(JSON.stringify(bare.trace.head)).not.toMatch(/words|w1500|Where/);

  // Another text stands at these places now.
  await session.load({ text: "x".repeat(9000), name: "other" });
  const later = await lookAt(store, session.id, TRACING);
  const cited = later.trace.head.execs.find(({ kind }) => kind === "ask")?.ask?.citations;
  expect(cited?.map(({ around }) => around)).toEqual([null, null]);
});

test("the surroundings of a citation end with its document, and citations keep the numbers that the answer gave them", async () => {
  const folder = folderWith({ "a.txt": "Before.", "b.txt": "The notice is 24 months.", "c.txt": "After." });
  const code = `const at = P.indexOf("24 months"); answer("24 months [2]", { cite: [[9, 2], [at, at + 9]] })`;
  const { session, store } = await openScripted(() => cell(code), { roots: [folder] });
  await session.load(folder);
  expect(await session.ask("How long?")).toMatchObject({ success: true });
  const { trace } = await lookAt(store, session.id, TRACING);
  expect(trace.head.execs.find(({ kind }) => kind === "ask")?.ask?.citations).toMatchObject([
    { number: 2, doc: "b.txt", around: { text: "The notice is 24 months.", at: 14, length: 9 } },
  ]);
});

test("no part of a key is in the text around a citation, or is the citation, wherever the key ends", () => {
  const secret = `postgres://me:${"s3cret".repeat(20)}@host`;
  const key = `\n-----BEGIN PRIVATE KEY-----\n${"MIIE0123456789abcdef\n".repeat(300)}-----END PRIVATE KEY-----\n`;
  const text = `${"a b ".repeat(1000)}${secret} ${"c d ".repeat(2000)}${key}${"e f ".repeat(1000)}`;
  const around = surroundings({ text: textFromString(text), documents: [] });
  const marks = /s3cret|MIIE/;
  for (let start = 0; start + 50 < text.length; start += 97) {
    const quote = text.slice(start, start + 50);
    const place = { doc: null, line: null, start, end: start + 50, place: null };
    const found = around({ valid: true, ...place, p_start: start, p_end: start + 50, quote });
    expect(found?.around?.text ?? "").not.toMatch(marks);
    if (/s3cre|IE012/.test(quote)) expect(found?.isKey).toBe(true);
  }
});

test("around a citation of a large P is its document's text, and none between documents", async () => {
  const { text, documents } = await largeContext([[textFile("a.txt", "one\n"), textFile("b.txt", "déjà vu\n")]]);
  const around = surroundings({ text, documents });
  const found = (quote: string) => {
    const start = text.slice(0, text.length).indexOf(quote);
    const place = { doc: null, line: null, start, end: start + quote.length, place: null };
    return around({ valid: true, ...place, p_start: start, p_end: start + quote.length, quote })?.around;
  };
  expect(found("vu")).toEqual({ text: "déjà vu\n", at: 5, length: 2 });
  // No document has a heading.
  expect(found("===== b.txt")?.text).toBe(text.slice(0, text.length));
});
