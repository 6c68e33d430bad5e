import { expect, test } from "vitest";
import { load } from "../../../../src/context/load/load.ts";
import { folderWith } from "../../../support/tree.ts";
import { pdfWith, streamOf } from "../packed.ts";

const LINES = Array.from({ length: 60 }, (_, n) => `(line ${n} of ${n * 7919}) Tj 0 -10 Td`).join("\n");
const PAGE = `BT /F 12 Tf 72 720 Td ${LINES} ET`;
const OTHER = streamOf("BT /F 12 Tf 72 720 Td (another page) Tj ET");

/** A packed page of which two bytes in the middle are others. */
function flipped(): Buffer {
  const stream = streamOf(PAGE);
  const middle = Math.floor(stream.length / 2);
  for (const at of [middle, middle + 1]) stream[at] = 0xff - (stream[at] ?? 0);
  return stream;
}

/** A page whose operators are these, as they stand in the file. */
const plain = (operators: string) => Buffer.from(`<</Length ${operators.length}>>\nstream\n${operators}\nendstream`);

/** Pages of which some words are there, and others are not. */
const DAMAGED: Readonly<Record<string, Buffer>> = {
  "packed.pdf": flipped(),
  "string.pdf": plain("BT /F 12 Tf 72 720 Td (line 0 of it) Tj 0 -20 Td (never closed ET"),
  "operator.pdf": plain("BT /F 12 Tf 72 720 Td (line 0 of it) Tj 0 -20 Td (swallowed) Tx ET"),
  "font.pdf": plain("BT (swallowed) Tj /F 12 Tf 72 720 Td (line 0 of it) Tj ET"),
  "shown.pdf": plain("BT /F 12 Tf 72 720 Td (line 0 of it) Tj ET BT <6c5z5> Tj ET"),
};

async function read(files: Readonly<Record<string, Buffer>>) {
  const cwd = folderWith({ ...files, "whole.txt": "whole" });
  const { text, documents, stats } = await load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
  const of = (id: string) => documents.find((document) => document.id === id);
  return {
    said: (id: string) => text.slice(of(id)?.start ?? 0, of(id)?.end ?? 0),
    lost: (id: string) => of(id)?.lost,
    skipped: stats.skipped.files,
  };
}

test("a page that can be read in part is told, and so is no other", async () => {
  const files = Object.entries(DAMAGED).map(([name, page]) => [name, pdfWith([page, OTHER])] as const);
  const { said, lost } = await read(Object.fromEntries(files));
  for (const name of Object.keys(DAMAGED)) {
    expect([name, lost(name)]).toEqual([name, [{ kind: "damaged page", count: 1, where: [1] }]]);
    expect(said(name)).toContain("line 0 of");
    expect(said(name)).toContain("another page");
    expect(said(name)).not.toContain("swallowed");
  }
});

test("a file whose list of objects or number of pages is wrong is read whole, and told", async () => {
  const whole = pdfWith([OTHER, OTHER]).toString("latin1");
  const moved = whole.replace(/\d{10}(?= 00000 n)/g, (offset) => String(Number(offset) + 3).padStart(10, "0"));
  const files = { "moved.pdf": moved, "count.pdf": whole.replace("/Count 2", "/Count 9") };
  const { said, lost } = await read({
    "moved.pdf": Buffer.from(files["moved.pdf"], "latin1"),
    "count.pdf": Buffer.from(files["count.pdf"], "latin1"),
  });
  for (const [name, part] of [
    ["moved.pdf", "list of objects"],
    ["count.pdf", "count of pages"],
  ] as const) {
    expect(lost(name)).toEqual([{ kind: "damaged part", count: 1, where: [part] }]);
    expect(said(name).match(/another page/g)).toHaveLength(2);
  }
});

test("a file of which no page can be read is damaged, and not without text", async () => {
  const { skipped } = await read({
    "none.pdf": pdfWith([
      Buffer.from(
        "<</Length 9/Filter/FlateDecode>>\nstream\nx\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\nendstream",
        "latin1",
      ),
    ]),
  });
  expect(skipped).toEqual([{ path: "none.pdf", reason: "is damaged: no page of it can be read" }]);
});
