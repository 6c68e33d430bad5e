import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { readInChild } from "../../src/context/documents/children.ts";
import { timeFor } from "../../src/context/documents/messages.ts";
import { CHILDREN } from "../../src/context/documents/ways.ts";
import { html } from "./originals.ts";
import { pdf, pdfWith, streamOf } from "./packed.ts";
import { useReader } from "./reader.ts";

const JOB = { name: "a.pdf", kind: "pdf", plain: [], room: 2 ** 20 } as const;
const pages = (count: number) => pdf(...Array.from({ length: count }, (_, n) => [`page ${n + 1}`]));

/** Children of this process that read documents. */
function children(): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, "utf8")) ?? [];
      const isReader = readFileSync(`/proc/${name}/cmdline`, "utf8").includes("documents/child-entry");
      return isReader && Number(parent) === process.pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

test("one child reads one document after another, and tells where it is", async () => {
  const places: string[] = [];
  const first = await readInChild(pages(45), JOB, { onProgress: (place) => places.push(place) });
  const pids = children();
  const second = await readInChild(pages(2), JOB, {});
  expect(places).toEqual(["p.20", "p.40"]);
  expect([first, second].map(({ texts }) => texts[0]?.places?.length)).toEqual([45, 2]);
  expect(children()).toEqual(pids);
});

test.for([0, 1, 2, 3])(
  "a child that is killed at frame %i refuses its document by name, and the next one is read",
  async (frame) => {
    let told = 0;
    const kill = () => {
      for (const pid of children()) process.kill(pid, "SIGKILL");
    };
    const killed = readInChild(pages(200), JOB, {
      onProgress() {
        told += 1;
        if (told === frame) kill();
      },
    });
    if (frame === 0) {
      await expect.poll(children).not.toEqual([]);
      kill();
    }
    await expect(killed).rejects.toMatchObject({
      reason: "damaged",
      message: "cannot be read: its reader ended (SIGKILL)",
    });
    const { texts } = await readInChild(pages(1), JOB, {});
    expect(Buffer.from(texts[0]?.text ?? "").toString()).toBe("[p.1]\npage 1\n");
  },
);

test("an abort ends the child at once", async () => {
  const stop = new AbortController();
  const slow = pdfWith([streamOf(`BT /F 1 Tf ${"(a) Tj 0 1 Td ".repeat(1_000_000)}ET`)]);
  const reading = readInChild(slow, JOB, { signal: stop.signal });
  await expect.poll(children).not.toEqual([]);
  stop.abort();
  await expect(reading).rejects.toMatchObject({ code: "cancelled" });
  await expect.poll(children).toEqual([]);
});

test("a document that takes too long ends its child, and the reason says how long it had", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const slow = pdfWith([streamOf(`BT /F 1 Tf ${"(a) Tj 0 1 Td ".repeat(1_000_000)}ET`)]);
  const reading = readInChild(slow, JOB, {});
  await expect.poll(children).not.toEqual([]);
  vi.advanceTimersByTime(timeFor(slow.length));
  const message = `took longer than ${Math.round(timeFor(slow.length) / 1000)} s to read`;
  await expect(reading).rejects.toMatchObject({ reason: "too_slow", message });
  await expect.poll(children).toEqual([]);
});

test("a document may take 10 s and 1 s for each 100 KB, and at most 300 s", () => {
  expect([0, 100_000, 10_000_000, 256 * 2 ** 20].map(timeFor)).toEqual([10_000, 11_000, 110_000, 300_000]);
});

test("a text that does not fit into the room is refused", async () => {
  const { refused } = await readInChild(html(), { ...JOB, kind: "html", room: 20 }, {});
  expect(refused).toMatchObject([{ name: "a.pdf", reason: "text_too_large" }]);
});

/** A reader that tries to leave its process, and answers what came of it. */
const EVIL = `
import fs from "node:fs";
import { execFileSync } from "node:child_process";
const tried = { env: Object.keys(process.env) };
const attempt = (name, work) => {
  try { work(); tried[name] = "done"; } catch (error) { tried[name] = error.code; }
};
attempt("read", () => fs.readFileSync("/etc/hostname"));
attempt("write", () => fs.writeFileSync("/tmp/belay-written", "x"));
attempt("list", () => fs.readdirSync("/"));
attempt("spawn", () => execFileSync("true"));
attempt("own", () => fs.readFileSync(new URL(import.meta.url)));
const text = Buffer.from(JSON.stringify(tried));
const header = Buffer.from(JSON.stringify({ isArchive: false, texts: [{ name: "a", length: text.length }], refused: [] }));
const prefix = Buffer.alloc(8);
prefix.writeUInt32BE(header.length, 0);
prefix.writeUInt32BE(text.length, 4);
process.stdin.once("data", () => process.stdout.write(Buffer.concat([prefix, header, text])));
`;

test("a reader may read its own code, and neither other files nor variables; it cannot write or start a program", async () => {
  const build = useReader(EVIL);
  // A document that needs a file has a child of its own.
  const { texts } = await readInChild(Buffer.from("x"), { ...JOB, file: join(build, "copy", "original") }, {});
  expect(JSON.parse(Buffer.from(texts[0]?.text ?? "").toString())).toEqual({
    ...{ env: [], read: "ERR_ACCESS_DENIED", write: "ERR_ACCESS_DENIED", list: "ERR_ACCESS_DENIED" },
    ...{ spawn: "ERR_ACCESS_DENIED", own: "done" },
  });
});

test.for([
  [
    "an answer that is not one",
    "process.stdin.once('data', () => process.stdout.write(Buffer.from('0000000200000000 7b7d'.replaceAll(' ', ''), 'hex')))",
  ],
  [
    "half an answer",
    "process.stdin.once('data', () => process.stdout.write(Buffer.from('00000040000000007b22', 'hex'), () => process.exit()))",
  ],
  ["a frame that is too large", "process.stdin.once('data', () => process.stdout.write(Buffer.alloc(8, 0xff)))"],
  ["nothing", "process.stdin.once('data', () => process.exit(3))"],
] as const)("%s of a reader is a document that cannot be read", async ([, code]) => {
  const build = useReader(code);
  const reading = readInChild(Buffer.from("x"), { ...JOB, file: join(build, "copy", "original") }, {});
  await expect(reading).rejects.toMatchObject({
    reason: "damaged",
    message: expect.stringMatching(/^cannot be read: its reader/),
  });
});

test("documents that wait for a child are read in turn, and an abort takes them out of the queue", async () => {
  const stop = new AbortController();
  const busy = Array.from({ length: CHILDREN }, () => readInChild(pages(100), JOB, {}));
  const waiting = readInChild(pages(1), JOB, { signal: stop.signal });
  const last = readInChild(pages(2), JOB, {});
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  const read = await Promise.all([...busy, last]);
  expect(read.map(({ texts }) => texts[0]?.places?.length)).toEqual([...busy.map(() => 100), 2]);
  expect(children().length).toBeLessThanOrEqual(CHILDREN);
});
