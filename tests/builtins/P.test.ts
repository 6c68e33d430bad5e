import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Sandbox } from "../../runtime/index.ts";
import { type Context, isSmall } from "../../src/context/index.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { contextMessage } from "../../src/session/machine/guest.ts";
import {
  contextOf,
  exec,
  keepBaseline,
  keepImages,
  newState,
  openGuest,
  recorder,
  run,
  take,
} from "../support/checkpoints.ts";
import { inFiles } from "../support/large-context.ts";
import { folderWith } from "../support/tree.ts";

/** Pairs of surrogates lie over the borders of the guest's pages, and characters over those of the file's. */
const SOURCE = `"a" + "😀é\\n検".repeat(20_000) + "the end\\0"`;
const TEXT = `a${"😀é\n検".repeat(20_000)}the end\0`;
const PAGE = 16_384;

async function guestOver(text: string): Promise<Sandbox<ContextMessage>> {
  const sandbox = await openGuest({ context: await largeOf(text) });
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  return sandbox;
}

async function largeOf(text: string): Promise<Context> {
  const context = await contextOf(text);
  if (!isSmall(context)) throw new Error("the text is not small");
  return inFiles(context);
}

/** Offsets as cells write them: around the borders of pages and of the text, and what is no whole number. */
const offset = fc
  .oneof(
    { weight: 4, arbitrary: fc.integer({ min: -TEXT.length - 5, max: TEXT.length + 5 }) },
    fc
      .integer({ min: -3, max: 3 })
      .chain((near) => fc.constantFrom(PAGE + near, 2 * PAGE + near, TEXT.length + near, -PAGE + near, near)),
    fc.constantFrom(
      "undefined",
      "null",
      "NaN",
      "Infinity",
      "-Infinity",
      "-0",
      "1.9",
      "-1.9",
      "1e300",
      "2**31",
      "2**32",
      "'7'",
      "'x'",
      "true",
      "{}",
    ),
  )
  .map(String);

const part = fc
  .tuple(fc.nat(TEXT.length), fc.nat(12))
  .map(([at, units]) => JSON.stringify(TEXT.slice(at, at + units).toWellFormed()));
const sought = fc.oneof(part, fc.constantFrom('"the end"', '""', '"検a"', "undefined", "null", "7", "[]"));

const anyCall = fc.oneof(
  offset.map((at) => `[${at}]`),
  ...["at", "charAt", "charCodeAt", "codePointAt"].map((name) => offset.map((at) => `.${name}(${at})`)),
  ...["slice", "substring", "substr"].map((name) => fc.tuple(offset, offset).map((both) => `.${name}(${both})`)),
  ...["slice", "substring", "substr", "at", "charAt", "charCodeAt", "codePointAt", "startsWith", "indexOf"].map(
    (name) => fc.constant(`.${name}()`),
  ),
  ...["indexOf", "includes", "startsWith", "endsWith"].map((name) =>
    fc.tuple(sought, offset).map((both) => `.${name}(${both})`),
  ),
);

describe("a large P in cells", () => {
  test("answers as a string does, whatever the offsets are", async () => {
    const sandbox = await guestOver(TEXT);
    expect(await run(sandbox, `const S = ${SOURCE}; [typeof P, P.length === S.length]`)).toEqual(["object", true]);
    await fc.assert(
      fc.asyncProperty(fc.array(anyCall, { minLength: 100, maxLength: 100 }), async (calls) => {
        const differing = await run(
          sandbox,
          `${JSON.stringify(calls)}.filter((call) => !Object.is(eval("P" + call), eval("S" + call)))`,
        );
        expect(differing).toEqual([]);
      }),
      { numRuns: 2 },
    );
  });

  test("is read unit by unit, also over the borders of pages", async () => {
    const sandbox = await guestOver(TEXT);
    const cell = `const S = ${SOURCE};
let differing = 0;
for (let at = 0; at <= P.length; at++) if (P[at] !== S[at] || P.codePointAt(at) !== S.codePointAt(at)) differing++;
differing`;
    expect(await run(sandbox, cell)).toBe(0);
  });

  test("takes what strings refuse as strings do", async () => {
    const sandbox = await guestOver(TEXT);
    const calls = [
      ".at(1n)",
      ".at(Symbol())",
      ".slice({ valueOf() { throw new TypeError() } })",
      ".includes(/a/)",
      ".startsWith(/a/)",
      ".endsWith(/a/)",
      ".indexOf(Symbol())",
      ".noSuchMethod()",
      "['01']",
      "[-1]",
      "['1.0']",
      ".constructor === Object",
    ];
    const cell = `${JSON.stringify(calls)}.map((call) => { try { return String(eval("P" + call)) } catch (error) { return error.name } })`;
    const refused = Array.from({ length: 8 }, () => "TypeError");
    expect(await run(sandbox, cell)).toEqual([...refused, "undefined", "undefined", "undefined", "false"]);
  });

  const WHOLE = [
    "P + ''",
    ["`$", "{P}`"].join(""),
    "String(P)",
    "/a/.exec(P)",
    "/a/.test(P)",
    "JSON.stringify(P)",
    "JSON.stringify({ P })",
    "for (const one of P) one",
    "[...P]",
    "Array.from(P)",
    "new Set(P)",
    "Object.keys(P)",
    "({ ...P })",
    "'0' in P",
    "Object.getOwnPropertyNames(P)",
    "structuredClone(P)",
    "'a'.concat(P)",
    "'a'.split(P)",
    "P < 'a'",
    "Number(P)",
    "encodeURIComponent(P)",
    "new TextEncoder().encode(P)",
    "String.prototype.split.call(P, 'x')",
    "memory.put('p', P)",
    "find(P)",
    "peek(P, 1)",
    "Array.prototype.map.call(P, (one) => one)",
    ...Object.getOwnPropertyNames(String.prototype)
      .filter(
        (name) =>
          ![
            "length",
            "constructor",
            "at",
            "charAt",
            "charCodeAt",
            "codePointAt",
            "slice",
            "substring",
            "substr",
            "startsWith",
            "endsWith",
            "indexOf",
            "includes",
          ].includes(name),
      )
      .map((name) => `P.${name}('a', 'b')`),
  ];

  test("throws at once if all of it is asked for", async () => {
    const sandbox = await guestOver(TEXT);
    const cell = `${JSON.stringify(WHOLE)}.map((code) => { try { eval(code); return code + " gave something" } catch (error) { return error.name + ": " + error.message } })`;
    const told = await run(sandbox, cell);
    const refusal = /^RangeError: .{1,40} would copy 100,009 characters into the cell$/;
    expect(told).toEqual(WHOLE.map(() => expect.stringMatching(refusal)));
    expect(await run(sandbox, "P.split('a')")).toBe("js_error: P.split would copy 100,009 characters into the cell");
  });

  test("looks for whole characters alone, and says so", async () => {
    const sandbox = await guestOver(TEXT);
    const half = /^js_error: P\.(indexOf|includes): the text to look for has half of a character/;
    expect(await run(sandbox, 'P.indexOf("\\ud83d")')).toMatch(half);
    expect(await run(sandbox, 'P.includes("\\ude00é")')).toMatch(half);
    expect(await run(sandbox, '[P.startsWith("a\\ud83d"), P.endsWith("\\ud83d", 2), P.indexOf("😀", 2)]')).toEqual([
      true,
      true,
      6,
    ]);
  });

  test("is printed as a value that cannot be shown, and is no answer", async () => {
    const sandbox = await guestOver(TEXT);
    const { end, state } = await exec(
      sandbox,
      { source: "console.log(P, { P }); P", state: newState(), facts: null },
      recorder(sandbox, undefined),
    );
    const hidden = "[a value that cannot be shown]";
    expect(state.output.stdout).toBe(`${hidden} ${hidden}\n`);
    expect(end).toMatchObject({ kind: "error", code: "js_error" });
    expect(await run(sandbox, "({ P })")).toBe("js_error: P as a value would copy 100,009 characters into the cell");
  });

  test("cannot be changed", async () => {
    const sandbox = await guestOver(TEXT);
    expect(await run(sandbox, "P.length = 1; P[0] = 'b'; P.own = 1; [P.length, P[0], typeof P.own]")).toEqual([
      TEXT.length,
      "a",
      "undefined",
    ]);
    expect(await run(sandbox, "'use strict'; P.own = 1")).toMatch(/^js_error: /);
  });

  test("is in images by what it means, and not by its text", async () => {
    const images = keepImages();
    const context = await largeOf(TEXT);
    const first = await openGuest({ context });
    await keepBaseline(first, images);
    await run(first, "const kept = { P, unit: P[40_000] }");
    const { delta } = await take(first, images, { id: "end", base: first.origin, kind: "end", commands: [] });
    await first[Symbol.asyncDispose]();
    expect(delta.meta.texts).toEqual([]);
    const image = { image: images.image("end"), pending: "drop", cells: [] } as const;
    const second = await openGuest({ context, image });
    onTestFinished(() => second[Symbol.asyncDispose]());
    const cell = "[kept.P === P, kept.P.slice(0, 3), kept.P[40_000] === kept.unit, P.at(-1), P.length]";
    expect(await run(second, cell)).toEqual([true, "a😀", true, "\0", TEXT.length]);
  });

  test("is forgotten when another context is loaded, whatever holds it", async () => {
    const sandbox = await guestOver(TEXT);
    await run(sandbox, "const before = P; before[3]");
    await sandbox.tell(contextMessage(await contextOf("a small one"), folderWith()));
    expect(await run(sandbox, "[typeof P, P, before.length]")).toEqual(["string", "a small one", TEXT.length]);
    const stale = "js_error: this P is of a context that is not loaded any more";
    for (const use of ["before[3]", "before.slice(1)", "before.indexOf('a')", "before + ''"]) {
      expect(await run(sandbox, use)).toBe(stale);
    }
    await sandbox.tell(contextMessage(await largeOf(`${TEXT}more`), folderWith()));
    expect(await run(sandbox, "[typeof P, P.slice(-5)]")).toEqual(["object", "\0more"]);
    expect(await run(sandbox, "before[3]")).toBe(stale);
    await sandbox.tell(contextMessage(await largeOf(TEXT), folderWith()));
    expect(await run(sandbox, "[before[3], P.length]")).toEqual(["é", TEXT.length]);
  });
});
