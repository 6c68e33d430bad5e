import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { readInChild } from "../../../src/documents/children.ts";
import { CHILDREN } from "../../../src/documents/kinds.ts";
import { timeFor } from "../../../src/documents/messages.ts";
import { html } from "./originals.ts";
import { pdf, pdfWith, streamOf } from "./packed.ts";
import { useReader } from "./reader.ts";

const JOB = { name: "a.pdf", kind: "pdf", plain: [], room: 2 ** 20, decoding: { bad: "none" } } as const;
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

test.for([0, 2])(
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
      reason: "reader_failed",
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

test("a document ends its child by processor time, and one that waits for nothing by ten times as much", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  // On a busy computer hours may pass for a second of work.
  const some = pages(200);
  const patient = readInChild(some, JOB, {});
  await expect.poll(children).not.toEqual([]);
  vi.advanceTimersByTime(9 * timeFor(some.length));
  expect((await patient).texts[0]?.places).toHaveLength(200);
  const slow = pdfWith([streamOf(`BT /F 1 Tf ${"(a) Tj 0 1 Td ".repeat(1_000_000)}ET`)]);
  const reading = readInChild(slow, JOB, {});
  await expect.poll(children).not.toEqual([]);
  vi.advanceTimersByTime(10 * timeFor(slow.length));
  const message = `took longer than ${Math.round(timeFor(slow.length) / 100)} s to read`;
  await expect(reading).rejects.toMatchObject({ reason: "too_slow", message });
  await expect.poll(children).toEqual([]);
});

test("a reader that takes its processor time is ended from within, whatever holds up its thread", async () => {
  const build = useReader(`
    import { until } from "./guard-entry.js";
    const { user, system } = process.cpuUsage();
    until[0] = (user + system) / 1000 + 50;
    for (;;);`);
  const reading = readInChild(Buffer.from("x"), { ...JOB, file: join(build, "copy", "original") }, {});
  const message = "took more than 10 s of processor time to read";
  await expect(reading).rejects.toMatchObject({ reason: "too_slow", message });
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
import * as cp from "node:child_process";
import * as dgram from "node:dgram";
import * as dns from "node:dns";
import fs from "node:fs";
import * as module from "node:module";
import * as net from "node:net";
import * as sqlite from "node:sqlite";
import * as threads from "node:worker_threads";
process.stdin.once("data", async (job) => {
  const port = Number(/port=(\\d+)/.exec(job.toString("latin1"))[1]);
  const tried = { env: Object.keys(process.env) };
  const attempt = async (name, work) => {
    try { await work(); tried[name] = "done"; } catch (error) { tried[name] = (error.cause ?? error).code ?? error.name; }
  };
  const socket = (one) => new Promise((done, fail) => one().on("connect", done).on("error", fail));
  const { openDatabase } = await import("./guard-entry.js");
  await attempt("own", () => fs.readFileSync(new URL(import.meta.url)));
  await attempt("read", () => fs.readFileSync("/etc/hostname"));
  await attempt("write", () => fs.writeFileSync("/tmp/belay-written", "x"));
  await attempt("list", () => fs.readdirSync("/"));
  await attempt("spawn", () => cp.execFileSync("true"));
  await attempt("database", () => new sqlite.DatabaseSync("/tmp/belay-opened"));
  await attempt("opened", () => openDatabase("/tmp/belay-opened"));
  await attempt("built", () => new (openDatabase().constructor)("/tmp/belay-opened"));
  await attempt("vacuum", () => openDatabase().exec("VACUUM INTO '/tmp/belay-vacuumed'"));
  await attempt("backup", () => sqlite.backup(openDatabase(), "/tmp/belay-backed-up"));
  await attempt("connect", () => socket(() => net.connect(port, "127.0.0.1")));
  await attempt("socket", () => socket(() => new (process.stdin.constructor)().connect(port, "127.0.0.1")));
  await attempt("fetch", () => fetch("http://127.0.0.1:" + port));
  await attempt("listen", () => new Promise((done, fail) => net.createServer().listen(0, done).on("error", fail)));
  await attempt("datagram", () => dgram.createSocket("udp4").send("x", port));
  await attempt("lookup", () => dns.promises.lookup("localhost"));
  await attempt("binding", () => process.binding("tcp_wrap").TCP.name);
  await attempt("thread", () => new threads.Worker("", { eval: true, execArgv: [] }));
  await attempt("hooks", () => module.register("data:text/javascript,"));
  await attempt("signal", () => process.kill(process.ppid, 0));
  await attempt("eval", () => new Function("return 1")());
  RegExp.prototype.test = String.prototype.startsWith = () => true;
  await attempt("attach", () => openDatabase().prepare("ATTACH '/tmp/belay-attached' AS a").run());
  const text = Buffer.from(JSON.stringify(tried));
  const header = Buffer.from(JSON.stringify({ isArchive: false, texts: [{ name: "a", length: text.length }], refused: [] }));
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32BE(header.length, 0);
  prefix.writeUInt32BE(text.length, 4);
  process.stdout.write(Buffer.concat([prefix, header, text]));
});
`;

test("a reader may read its own code, and nothing else: no file, variable, program, connection or thread", async () => {
  const build = useReader(EVIL);
  let connections = 0;
  const server = createServer(() => void connections++).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const port = Object(server.address()).port;
  // A document that needs a file has a child of its own.
  const job = { ...JOB, name: `port=${port}`, file: join(build, "copy", "original") };
  const { texts } = await readInChild(Buffer.from("x"), job, {});
  const { env, own, eval: evaluated, ...others } = JSON.parse(Buffer.from(texts[0]?.text ?? "").toString());
  expect([env, own, evaluated]).toEqual([[], "done", "EvalError"]);
  const files = ["read", "write", "list", "spawn", "database", "opened", "built", "attach", "vacuum", "backup"];
  const ways = ["connect", "socket", "fetch", "listen", "datagram", "lookup", "binding", "thread", "hooks", "signal"];
  expect(others).toEqual(Object.fromEntries([...files, ...ways].map((name) => [name, "ERR_ACCESS_DENIED"])));
  expect(connections).toBe(0);
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
    reason: "reader_failed",
    message: expect.stringMatching(/^cannot be read: its reader/),
  });
});

test("documents that wait for a child are read in turn, and an abort takes them out of the queue", async () => {
  const stop = new AbortController();
  const busy = Array.from({ length: CHILDREN }, () => readInChild(pages(20), JOB, {}));
  const waiting = readInChild(pages(1), JOB, { signal: stop.signal });
  const last = readInChild(pages(2), JOB, {});
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  const read = await Promise.all([...busy, last]);
  expect(read.map(({ texts }) => texts[0]?.places?.length)).toEqual([...busy.map(() => 20), 2]);
  expect(children().length).toBeLessThanOrEqual(CHILDREN);
});
