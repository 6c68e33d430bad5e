import { join } from "node:path";
import { expect, test } from "vitest";
import { UNPLACED } from "../../../../src/documents/growing.ts";
import { contextParts } from "../../../../src/session/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { contextOf, convertedFile } from "../../../support/converted.ts";
import { openScripted, using } from "../../../support/scripted-session.ts";
import { folderWith } from "../../../support/tree.ts";

const SKIPPED = "files_skipped: 2 files (2 binary)";
const folder = () => folderWith({ "docs/a.txt": "words\n", "docs/b.bin": "\0", "docs/c.bin": "\0" });

test("the first envelope after a load or append tells of files that were left out, also in another process", async () => {
  const at = folder();
  const { session, store } = await openScripted(() => "words", { roots: [at], session: "s" });
  await session.load(join(at, "docs"));
  expect((await session.exec("nope")).warnings).toEqual([SKIPPED]);
  expect((await session.exec("1")).warnings).toEqual([]);
  await session.loadAppend({ text: "more", name: "more" });
  await session.memory.put("k", 1);
  await session.close();
  await using again = await openSessionWith({ roots: [at], session: "s" }, { store });
  expect((await again.exec("1")).warnings).toEqual([SKIPPED]);
  expect((await again.exec("1")).warnings).toEqual([]);
});

test("a query tells of it, and an ask does in place of its cells", async () => {
  const at = folder();
  const answer = using("rlm_exec", { code: "answer(peek(0, 3))" });
  const { session } = await openScripted(({ tools }) => (tools.length > 0 ? answer : "words"), { roots: [at] });
  await session.load(join(at, "docs"));
  expect((await session.query("words?")).warnings).toContain(SKIPPED);
  await session.load(join(at, "docs"));
  const asked = await session.ask("words?", { trajectory: true });
  expect(asked.warnings).toContain(SKIPPED);
  expect(JSON.stringify(asked.trajectory)).not.toContain("files_skipped");
  expect((await session.exec("1")).warnings).toEqual([]);
});

test("losses of converted documents are told by kind", async () => {
  const lost = [
    { kind: "page without text", count: 2, where: [4, 9] },
    { kind: UNPLACED, count: 1234, where: [] },
  ];
  const context = await contextOf([convertedFile("a.pdf", [{ label: "p.1", body: "" }], { lost })]);
  const { session } = await openScripted(() => "", {}, undefined, contextParts(context));
  const unplaced = context.stats.converted?.lost[UNPLACED];
  expect((await session.exec("1")).warnings).toEqual([
    "documents_lost: 1 document, 2 pages without text; stats().converted",
    `places_capped: ${unplaced?.toLocaleString("en-US")}`,
  ]);
});
