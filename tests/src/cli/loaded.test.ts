import { expect, test } from "vitest";
import { loadedSince, showLoaded } from "../../../src/cli/render/loaded.ts";
import type { Output } from "../../../src/cli/render/terminal.ts";
import { outputOver } from "../../../src/cli/render/terminal.ts";
import { type Context, skippedStats } from "../../../src/context/index.ts";
import { contextOf, convertedFile, textFile } from "../../support/converted.ts";

const PAGES = Array.from({ length: 5 }, (_, n) => ({ label: `p.${n + 1}`, body: "" }));
const image = { kind: "image", count: 31, where: [] };
const lossy = convertedFile("report.pdf", PAGES, {
  lost: [image, { kind: "page without text", count: 3, where: [1, 2] }, { kind: "damaged page", count: 1, where: [5] }],
});

function told(stats: Context["stats"], isVerbose = false, before: Context["stats"] | null = null): string[] {
  const lines: string[] = [];
  const stderr: Output = outputOver({ isTTY: false, columns: 80, write: (text: string) => lines.push(text) > 0 }, {});
  showLoaded(loadedSince(before, stats), stderr, isVerbose, "papers: ");
  return lines.join("").split("\n").slice(0, -1);
}

test("a load tells what was converted and left out, and names parts without text", async () => {
  const slides = convertedFile("s\u001b.pptx", PAGES, {
    ...{ kind: "pptx", lost: [{ kind: "slide without text", count: 1, where: [4] }] },
  });
  const first = await contextOf([textFile("a.txt", ""), lossy, convertedFile("b.pdf", PAGES), slides]);
  expect(told(first.stats)).toEqual([
    "papers: 3 documents converted (2 pdf, 1 pptx); 31 images left out",
    "report.pdf: 3 of 5 pages have no text: p.1, p.2, … (scans?)",
    "report.pdf: 1 of 5 pages is damaged: p.5",
    "s\\x1b.pptx: 1 of 5 slides has no text: slide 4",
  ]);
  const tracked = { kind: "deleted by a tracked change", count: 2, where: [] };
  const { stats } = await contextOf([convertedFile("c.docx", [], { kind: "docx", lost: [tracked] })], first);
  expect(told(stats, false, first.stats)).toEqual([
    "papers: 1 document converted (1 docx); 2 deleted by tracked changes left out",
  ]);
  const changed = ["image", "equation", "list number"].map((kind) => ({ kind, count: 1, where: [] }));
  expect(told((await contextOf([convertedFile("d.docx", [], { kind: "docx", lost: changed })])).stats)).toEqual([
    "papers: 1 document converted (1 docx); 1 image left out; 1 equation, 1 list number not as printed",
  ]);
  const hidden = ["hidden slide", "hidden shape"].map((kind) => ({ kind, count: 1, where: [2] }));
  expect(told((await contextOf([convertedFile("e.pptx", [], { kind: "pptx", lost: hidden })])).stats)).toEqual([
    "papers: 1 document converted (1 pptx); 1 hidden slide, 1 hidden shape read too",
  ]);
  const guess = { kind: "guessed encoding", count: 1, where: ["windows-1252"] };
  const guessed = ["html", "eml"].map((kind) => convertedFile(`a.${kind}`, [], { kind, lost: [guess] }));
  expect(told((await contextOf(guessed)).stats)).toEqual([
    "papers: 2 documents converted (1 html, 1 eml)",
    "a.html: its encoding is a guess: windows-1252; --encoding NAME names another",
    "a.eml: its encoding is a guess: windows-1252",
  ]);
  expect(told((await contextOf([textFile("a.txt", "")])).stats)).toEqual([]);
});

test("a few documents are named, and all with --verbose, with everything that they lost", async () => {
  const files = ["a", "b", "c"].map((id) => ({ ...lossy, relative: id }));
  const { stats } = await contextOf(files);
  expect(told(stats)).toHaveLength(5);
  expect(told(stats).at(-1)).toBe("… 3 more; --verbose lists them");
  const all = told(stats, true);
  expect(all).toHaveLength(10);
  expect(all[1]).toBe("a: 31 images");
});

test("files without room are named with the flag that gives it", async () => {
  const { stats } = await contextOf([textFile("a.txt", "")]);
  const reason = "has 57.2 MB: the context would have more than 100 MB, and the largest files are left out first";
  const skipped = skippedStats([{ path: "1.log", reason }]);
  expect(told({ ...stats, skipped })).toEqual([
    `papers: 1 file could not be read: 1.log (${reason}).`,
    "papers: --max-context-mb N lets the context have N MB",
  ]);
});
