import { tmpdir } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import {
  countPages,
  type GuestImage,
  type ImageDelta,
  PAGE_BYTES,
  type PendingCall,
  type Sandbox,
  type Settlement,
} from "../../runtime/index.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { contextMessage } from "../../src/session/machine/guest.ts";
import {
  type CallHost,
  contextOf,
  exec,
  type GuestOptions,
  keepBaseline,
  keepImages,
  newState,
  openGuest,
  recorder,
  resume,
  run,
  type Saved,
  take,
} from "../support/checkpoints.ts";

async function open(options: GuestOptions = {}): Promise<Sandbox<ContextMessage>> {
  const sandbox = await openGuest(options);
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  return sandbox;
}

const reopened = (image: GuestImage, pending: "keep" | "drop" = "keep", cells = noCells) =>
  open({ image: { image, pending, cells } });
const noCells: { number: number; source: string }[] = [];
const timeless = <E extends { state: object }>(end: E) => ({ ...end, state: { ...end.state, running_ms: 0 } });
const messageOf = (context: Parameters<typeof contextMessage>[0]) => contextMessage(context, tmpdir());
const pageBytes = ({ pages }: ImageDelta) => countPages(pages) * PAGE_BYTES;
const SEED = [1, 2, 3, 4] as const;

/** Runs a cell with a checkpoint at every wait; gives how it ended and the images. */
async function recorded(source: string, answer?: (call: PendingCall) => Settlement) {
  const images = keepImages();
  const sandbox = await open();
  await keepBaseline(sandbox, images);
  const calls = recorder(sandbox, images, answer);
  const done = await exec(sandbox, { source, state: newState(), facts: null, seed: SEED }, calls);
  return { source, images, calls, done };
}

/** Continues the exec from where it was saved. `replay` holds the answers that were recorded after that. */
async function resumed(from: Awaited<ReturnType<typeof recorded>>, saved: Saved, withRecord: boolean) {
  const sandbox = await reopened(from.images.image(saved.id));
  const calls = recorder(sandbox, undefined);
  const replay = withRecord ? from.calls.answers.filter(({ id }) => !saved.answered.includes(id)) : [];
  const { state, waiting } = saved;
  const done = await resume(sandbox, { source: from.source, state, facts: null, waiting, replay }, calls);
  return { done, calls };
}

const PROGRAMS = {
  closures: `let n = 0; const add = (k) => () => (n += k); const five = add(5);
    for (let i = 0; i < 3; i++) { five(); n += await later(i); print(n); } n`,
  generators: `function* count() { let i = 0; while (true) { const step = yield i; i += step ?? 1; } }
    const it = count(); const seen = [it.next().value];
    for (let i = 1; i < 4; i++) { await later(i); seen.push(it.next(i).value); } seen`,
  "async generators": `async function* pages() { for (let i = 0; i < 3; i++) yield (await later(i)) * 10; }
    const seen = []; for await (const page of pages()) seen.push(page, await later("x")); seen`,
  "private fields": `class Counter { #n = 1; static #made = 0; constructor() { Counter.#made++; } async step() { this.#n *= await later(3); return this; } get n() { return [this.#n, Counter.#made]; } }
    const c = new Counter(); await c.step(); await c.step(); c.n`,
  WeakRef: `const kept = { name: "kept" }; const ref = new WeakRef(kept); const weak = new WeakMap([[kept, "value"]]);
    await later(1); const a = ref.deref()?.name; await later(2); [a, weak.get(kept), ref.deref() === kept]`,
  "RegExp lastIndex": `const re = /o(\\d)/g; const text = "o1 o2 o3"; const seen = [];
    for (let m; (m = re.exec(text)); ) seen.push(m[1], await later(re.lastIndex)); seen`,
  BigInt: `let big = 2n ** 200n; for (let i = 0; i < 3; i++) big = big * BigInt(await later(7)) + 1n; String(big)`,
  "typed arrays": `const bytes = new Uint8Array(10000); const floats = new Float64Array(bytes.buffer, 800, 10);
    for (let i = 0; i < 3; i++) { bytes[i * 3000] = i + 1; floats[i] = await later(i / 3); } [bytes[6000], floats[2], new DataView(bytes.buffer).getFloat64(816, true)]`,
  "Map and Set": `const map = new Map(); const set = new Set();
    for (const key of ["b", "a", "c"]) { map.set(key, await later(key)); set.add(map.get(key)); if (key === "a") map.delete("b"); } [[...map], [...set]]`,
  "Promise.all": `const [a, b, c] = await Promise.all([later(1).then((v) => later(v + 10)), later(2), later(3)]); [a, b, c]`,
  "Promise.race": `const slow = later("first").then((v) => later(v)).then((v) => later(v)); const first = await Promise.race([slow, later("second")]); [first, await slow]`,
  "Promise.allSettled": `const all = await Promise.allSettled([later(1), fails("timeout"), later(2).then((v) => fails("x" + v))]); all.map(({ status, value, reason }) => [status, value ?? reason.code])`,
  "errors and output": `const seen = []; for (const code of ["a", "b"]) { try { await fails(code); } catch (error) { print(error.code); console.error(error.message); seen.push(error.code); } finally { await later(0); } } seen`,
  "random and memory": `const seen = []; for (let i = 0; i < 3; i++) { seen.push(Math.random()); memory.put("k" + i, await later(i)); } [seen, memory.list()]`,
  "a growing heap": `const rows = []; for (let i = 0; i < 3; i++) { for (let j = 0; j < 20000; j++) rows.push({ i, j, text: "row " + j }); await later(i); } [rows.length, rows[59999].text]`,
};

test.each(Object.entries(PROGRAMS).map(([name, source], index) => [name, source, index % 2 === 0] as const))(
  "%s: taken up in another thread where it waits, ends as if never stopped",
  async (_name, source, withRecord) => {
    const whole = await recorded(source);
    expect(whole.done).toMatchObject({ end: { kind: "ok" }, lost: null });
    const { saved } = whole.calls;
    expect(saved.length).toBeGreaterThan(1);
    const middle = saved[saved.length >> 1];
    if (!middle) throw new Error("nothing was saved");
    const { done, calls } = await resumed(whole, middle, withRecord);
    expect(timeless(done)).toEqual(timeless(whole.done));
    expect(calls.sent.length === 0).toBe(withRecord);
  },
);

test("an exec's end is captured with its last slice, and opens as one that was asked for", async () => {
  const sandbox = await open();
  const images = keepImages();
  await keepBaseline(sandbox, images);
  const input = { source: `memory.put("a", 1); const list = [1, 2, 3]`, state: newState(), facts: null, seed: SEED };
  const step = { id: "step", base: sandbox.origin, kind: "step", commands: [] } as const;
  const atEnd = { ...step, id: "end", kind: "end", commands: ["memory.export"] } as const;
  const slice = await sandbox.start(input, { ...step, atEnd });
  const image = slice.kind === "over" ? slice.image : undefined;
  if (!image) throw new Error("the end has no image");
  images.add(image.delta);
  const asked = await take(sandbox, images, { ...atEnd, id: "asked", base: "end" });
  expect(image).toMatchObject({ waiting: [], answers: asked.answers, delta: { id: "end", base: sandbox.origin } });
  const next = { ...input, source: "list.length + memory.get('a')", state: newState("y", 2) };
  for (const guest of [sandbox, await reopened(images.image("end"))]) {
    expect(await guest.start(next, null)).toMatchObject({ end: { kind: "ok", result: "4" } });
  }
});

test("an exec that starts anew uses recorded answers and sends only calls without one", async () => {
  const source = PROGRAMS.closures;
  const whole = await recorded(source);
  const sandbox = await open();
  const calls = recorder(sandbox, undefined);
  const replay = whole.calls.answers.slice(0, 2);
  const done = await exec(sandbox, { source, state: newState(), facts: null, seed: SEED, replay }, calls);
  expect(timeless(done)).toEqual(timeless(whole.done));
  expect(calls.sent).toEqual(["x.3"]);
});

test("a dropped cell is never settled, but what it has done stays", async () => {
  const whole = await recorded(`globalThis.seen = ["before"]; seen.push(await later("after")); seen`);
  const [saved] = whole.calls.saved;
  const sandbox = await reopened(whole.images.image(saved?.id ?? ""), "drop");
  expect(await run(sandbox, "seen", newState("y", 2))).toEqual(["before"]);
  expect(await run(sandbox, "await null; seen.length", newState("z", 3))).toBe(1);
});

test("variables, memory, helpers and random numbers continue after the end of an exec", async () => {
  const images = keepImages();
  const sandbox = await open();
  await keepBaseline(sandbox, images);
  await run(
    sandbox,
    `let n = 41; const bump = () => ++n; memory.put("k", { a: [1] }); helpers.add("h", "const twice = (x) => 2 * x;")`,
  );
  const { delta, answers } = await take(sandbox, images, {
    id: "end",
    base: sandbox.origin,
    kind: "end",
    commands: ["memory.export", "helpers.sources"],
  });
  expect(delta.base).toBe(sandbox.origin);
  expect(answers).toEqual([{ k: { a: [1] } }, [{ name: "h", code: "const twice = (x) => 2 * x;" }]]);
  const later = `[bump(), memory.get("k"), twice(4), Math.random()]`;
  const copy = await reopened(images.image("end"));
  expect(copy.origin).toBe("end");
  expect(await run(copy, later, newState("y", 2))).toEqual(await run(sandbox, later, newState("y", 2)));
});

test("an end is based on the previous end, whatever steps lie between", async () => {
  const images = keepImages();
  const sandbox = await open();
  await keepBaseline(sandbox, images);
  const calls = recorder(sandbox, images);
  await exec(sandbox, { source: "let a = await later(1), b = await later(2)", state: newState(), facts: null }, calls);
  const { delta } = await take(sandbox, images, { id: "end", base: sandbox.origin, kind: "end", commands: [] });
  expect(delta.base).toBe(sandbox.origin);
  const onStep = await sandbox.checkpoint({ id: "end2", base: "gone", kind: "end", commands: [] });
  expect(onStep.delta.base).toBeNull();
  const copy = await reopened(images.image("end"));
  expect(await run(copy, "[a, b]", newState("y", 2))).toEqual([1, 2]);
});

test("fresh guests are equal byte for byte, whatever their limit and the time", async () => {
  const [one, two] = await Promise.all([open(), open({ memoryBytes: 64 * 2 ** 20 })]);
  const request = { base: null, kind: "end", commands: [] } as const;
  const a = await one.checkpoint({ ...request, id: one.origin });
  const b = await two.checkpoint({ ...request, id: two.origin });
  expect(one.origin).toMatch(/^baseline:[0-9a-f]{64}$/);
  expect(two.origin).toBe(one.origin);
  expect(isDeepStrictEqual(a.delta.pages, b.delta.pages)).toBe(true);
});

test("random numbers differ by seed and are equal for one seed", async () => {
  const draw = async (seed: typeof SEED | undefined) => {
    const sandbox = await open();
    const input = { source: "[Math.random(), Math.random()]", state: newState(), facts: null };
    const { end } = await exec(sandbox, { ...input, ...(seed ? { seed } : {}) }, recorder(sandbox, undefined));
    const values: number[] = end.kind === "ok" ? JSON.parse(end.result) : [];
    return values;
  };
  const [a, same, other] = [await draw(SEED), await draw(SEED), await draw(undefined)];
  expect(same).toEqual(a);
  expect(new Set([...a, ...other]).size).toBe(4);
  for (const value of a) expect(value).toBeGreaterThanOrEqual(0);
  for (const value of a) expect(value).toBeLessThan(1);
});

test("elapsed time counts from the first cell, also in another thread", async () => {
  const images = keepImages();
  const sandbox = await open();
  const first = Number(await run(sandbox, "performance.now()"));
  await take(sandbox, images, { id: "end", base: null, kind: "end", commands: [] });
  const copy = await reopened(images.image("end"));
  const second = Number(await run(copy, "performance.now()", newState("y", 2)));
  expect(first).toBeGreaterThanOrEqual(0);
  expect(second).toBeGreaterThan(first);
  expect(second).toBeLessThan(Date.now() / 2);
});

const TEXTS = {
  ASCII: "All work and no play. ".repeat(100_000),
  latin1: "Fähre über Ärmelkanal – nein: - ".replace("–", "-").repeat(100_000),
  wide: "数 and 😀 and ā: ".repeat(100_000),
};

test.each(Object.entries(TEXTS))("P (%s) is left out of images and is restored", async (_name, text) => {
  const context = await contextOf(text);
  const images = keepImages();
  const sandbox = await open({ context });
  await keepBaseline(sandbox, images);
  const touched = `const own = P.slice(5, 9) + P.length; const all = P; P.at(-2)`;
  await run(sandbox, touched);
  const { delta } = await take(sandbox, images, { id: "end", base: sandbox.origin, kind: "end", commands: [] });
  expect(delta.meta.texts).toMatchObject([{ name: "P", id: context.hash }]);
  expect(pageBytes(delta)).toBeLessThan(700_000);
  const whole = await sandbox.checkpoint({ id: "whole", base: null, kind: "end", commands: [] });
  expect(whole.delta.meta.texts).toEqual(delta.meta.texts);
  expect(pageBytes(whole.delta)).toBeLessThan(1_400_000);
  const copy = await open({ context, image: { image: images.image("end"), pending: "keep", cells: [] } });
  const look = "[own, all === P, P.length, P.slice(0, 40), P.slice(-40), P.slice(9000, 9040)]";
  const read = await run(copy, look, newState("y", 2));
  const parts = [text.slice(0, 40), text.slice(-40), text.slice(9000, 9040)];
  expect(read).toEqual([text.slice(5, 9) + text.length, true, text.length, ...parts]);
});

test("an image is refused with checkpoint_lost if another context is loaded", async () => {
  const images = keepImages();
  const sandbox = await open({ context: await contextOf(TEXTS.ASCII) });
  await run(sandbox, "P.length");
  await take(sandbox, images, { id: "end", base: null, kind: "end", commands: [] });
  for (const context of [await contextOf(TEXTS.wide), undefined]) {
    const opened = open({
      ...(context ? { context } : {}),
      image: { image: images.image("end"), pending: "keep", cells: [] },
    });
    await expect(opened).rejects.toMatchObject({ code: "checkpoint_lost" });
  }
});

test("an image is refused with checkpoint_lost if no text lies at the place of P", async () => {
  const context = await contextOf(TEXTS.ASCII);
  const images = keepImages();
  const sandbox = await open({ context });
  await run(sandbox, "P.length");
  const { delta } = await take(sandbox, images, { id: "end", base: null, kind: "end", commands: [] });
  const { address = 0 } = delta.meta.texts[0] ?? {};
  const image = images.image("end");
  image.memory.fill(0, address - 40, address);
  const opened = open({ context, image: { image, pending: "keep", cells: [] } });
  await expect(opened).rejects.toMatchObject({ code: "checkpoint_lost", message: expect.stringContaining("text P") });
});

test("a sandbox refuses an image of another format itself", async () => {
  const sandbox = await open();
  const { meta } = (await sandbox.checkpoint({ id: "a", base: null, kind: "end", commands: [] })).delta;
  const image = { id: "a", meta: { ...meta, gate: { ...meta.gate, format: 99 } }, memory: new Uint8Array(65536) };
  await expect(reopened(image)).rejects.toMatchObject({ code: "checkpoint_lost" });
});

test("a context that is replaced leaves nothing of its text in images, unless a variable holds it", async () => {
  const [before, after] = [await contextOf(TEXTS.ASCII), await contextOf("short")];
  for (const [cell, most] of [
    ["P.length", 1_400_000],
    ["const mine = P; 1", 4_000_000],
  ] as const) {
    const images = keepImages();
    const sandbox = await open({ context: before });
    await run(sandbox, cell);
    await sandbox.tell(messageOf(after));
    const { delta } = await take(sandbox, images, { id: "end", base: null, kind: "end", commands: [] });
    expect(delta.meta.texts).toEqual([]);
    expect(pageBytes(delta)).toBeLessThan(most);
    const copy = await open({ context: after, image: { image: images.image("end"), pending: "keep", cells: [] } });
    const held = `[P, typeof mine === "undefined" ? 0 : mine.length]`;
    expect(await run(copy, held, newState("y", 2))).toEqual(["short", cell === "P.length" ? 0 : TEXTS.ASCII.length]);
  }
});

test("a guest that is full can be saved", async () => {
  const sandbox = await open({ memoryBytes: 8 * 2 ** 20 });
  await run(
    sandbox,
    `memory.put("k", "v"); globalThis.all = [];
    try { for (;;) all.push("x".repeat(1000) + all.length); } catch { all.length -= 50; }`,
  );
  const { answers } = await sandbox.checkpoint({ id: "a", base: null, kind: "end", commands: ["memory.export"] });
  expect(answers).toEqual([{ k: "v" }]);
});

test("memory that is free again is in no image", async () => {
  const sandbox = await open();
  await run(sandbox, `("x".repeat(1e7) + 1).toUpperCase().length`);
  const { delta, isSpent } = await sandbox.checkpoint({ id: "a", base: null, kind: "end", commands: [] });
  expect(delta.meta.linearBytes).toBeGreaterThan(1e7);
  expect(pageBytes(delta)).toBeLessThan(2e6);
  expect(isSpent).toBe(false);
});

test("a guest whose image would take too much memory beside it is opened anew from the image", async () => {
  const images = keepImages();
  const sandbox = await open({ memoryBytes: 16 * 2 ** 20 });
  await keepBaseline(sandbox, images);
  await run(sandbox, "const kept = Array.from({ length: 13 }, (_, n) => new Uint8Array(2 ** 20).fill(n + 1)); 1");
  const request = { id: "a", base: sandbox.origin, kind: "end", commands: [] } as const;
  expect(await take(sandbox, images, request)).toMatchObject({ isSpent: true, delta: { base: sandbox.origin } });
  const copy = await reopened(images.image("a"));
  expect(await run(copy, "kept.map((bytes) => !bytes.includes(0) && bytes.at(-1) === bytes[0] && bytes[0])")).toEqual(
    Array.from({ length: 13 }, (_, n) => n + 1),
  );
});

test("tracebacks show the columns of cells that ran before the image was captured", async () => {
  const images = keepImages();
  const sandbox = await open();
  const source = "class A { static fail() { missing(); } } let x = 1; function g() { A.fail(); }";
  await run(sandbox, source);
  await take(sandbox, images, { id: "end", base: null, kind: "end", commands: [] });
  const copy = await reopened(images.image("end"), "keep", [{ number: 1, source }]);
  const state = newState("y", 2);
  const there = await exec(sandbox, { source: "g()", state, facts: null }, recorder(sandbox, undefined));
  const here = await exec(copy, { source: "g()", state: newState("y", 2), facts: null }, recorder(copy, undefined));
  expect(there.end).toMatchObject({ kind: "error", error: { column: source.indexOf("missing") + 1 } });
  expect(here.end).toEqual(there.end);
});

test("a wanted image shows the guest as it waits; none is captured without new calls or while recorded answers are given", async () => {
  const source = "const a = later(1); const b = later(2); await a; await b; const c = await later(3); [c]";
  const sandbox = await open();
  const told: unknown[] = [];
  const calls = recorder(sandbox, undefined);
  const wanted = () => ({ id: `image ${told.length}`, base: sandbox.origin, kind: "step", commands: [] }) as const;
  const host: CallHost = {
    ...calls,
    checkpoint: wanted,
    async begin(pending, _state, taken) {
      const { delta, waiting } = await sandbox.checkpoint({ ...wanted(), id: "again", base: taken?.delta.id ?? null });
      told.push({ pending: pending.map(({ id }) => id), id: taken?.delta.id, waiting: taken?.waiting });
      expect({ base: delta.base, pages: countPages(delta.pages), waiting }).toMatchObject(
        taken ? { base: taken.delta.id, pages: 0, waiting: taken.waiting } : { base: null },
      );
    },
  };
  const replay = [{ id: "x.1", name: "later", args: [1], settlement: { ok: true, value: 1 } }] as const;
  const { end } = await exec(sandbox, { source, state: newState(), facts: null, replay }, host);
  expect(end).toMatchObject({ kind: "ok", result: "[3]" });
  expect(told).toEqual([
    { pending: ["x.2"], id: undefined, waiting: undefined },
    { pending: ["x.3"], id: "image 1", waiting: ["x.3"] },
  ]);
});
