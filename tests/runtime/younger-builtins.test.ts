import { expect, onTestFinished, test } from "vitest";
import { LANGUAGE_NAMES } from "../../runtime/cells/helper-script.ts";
import { openSandbox, type Sandbox } from "../../runtime/index.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import {
  exec,
  keepBaseline,
  keepImages,
  newState,
  openGuest,
  recorder,
  resume,
  run,
  take,
} from "../support/checkpoints.ts";
import { threadEntry } from "../support/command.ts";

const END = { id: "old", base: null, kind: "end", commands: [] } as const;

async function olderGuest(): Promise<Sandbox<ContextMessage>> {
  const entry = threadEntry("older");
  return openSandbox({ entry, memoryBytes: 2 ** 24 });
}

/** Runs a cell in a guest of an earlier version, then opens its image in this one. */
async function broughtForward(source: string): Promise<Sandbox<ContextMessage>> {
  const images = keepImages();
  await using older = await olderGuest();
  await run(older, source);
  await take(older, images, END);
  const sandbox = await openGuest({ image: { image: images.image("old"), pending: "drop", cells: [] } });
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  return sandbox;
}

test("a guest of an earlier version gets the builtins that it lacks, and keeps its variables", async () => {
  const sandbox = await broughtForward(
    "const kept = typeof help; Array.prototype.map = Map.prototype.get = undefined; 1",
  );
  const seen = await run(sandbox, "[kept, help(peek).slice(0, 13), llm_query.name]");
  expect(seen).toEqual(["undefined", "function peek", "llm_query"]);
  const state = newState("y", 2);
  expect([await run(sandbox, "const help = 5; help", state), state.warnings]).toEqual([5, []]);
  expect(await run(sandbox, "help")).toBe(5);
});

test("it says in its next image that it has them: they are not installed twice", async () => {
  const sandbox = await broughtForward("1");
  const images = keepImages();
  await take(sandbox, images, END);
  await run(sandbox, "const help = 5");
  await take(sandbox, images, { ...END, id: "new" });
  const again = await openGuest({ image: { image: images.image("new"), pending: "drop", cells: [] } });
  onTestFinished(() => again[Symbol.asyncDispose]());
  expect(await run(again, "help")).toBe(5);
});

test("a variable of an earlier version's guest that has the name of a builtin stays its own", async () => {
  const sandbox = await broughtForward("const help = 'mine'; 1");
  expect(await run(sandbox, "help")).toBe("mine");
});

test("a guest that takes no new names continues without them, and says why", async () => {
  const sandbox = await broughtForward("Object.preventExtensions(globalThis); 1");
  expect(await run(sandbox, "peek.name")).toBe("peek");
  const ended = await exec(sandbox, { source: "help()", state: newState(), facts: null }, recorder(sandbox, undefined));
  expect(ended.end).toMatchObject({ code: "js_error", suggestion: expect.stringContaining("earlier version") });
});

test("a cell of the host's own reaches builtins whatever the guest has by their names", async () => {
  const sandbox = await openGuest();
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  await run(sandbox, "const help = 5; function later() { return 6 }");
  const own = "result = [help('peek').length > 9, typeof print, await later.name]";
  expect(await run(sandbox, own, newState("q", 0))).toEqual([true, "function", "later"]);
  const older = await broughtForward("1");
  expect(await run(older, "result = [find.name, help.name]", newState("q", 0))).toEqual(["find", "help"]);
});

test("the globals of the language are those of a fresh guest", async () => {
  const older = await olderGuest();
  onTestFinished(() => older[Symbol.asyncDispose]());
  const cell =
    "Object.getOwnPropertyNames(globalThis).filter((name) => !Object.getOwnPropertyDescriptor(globalThis, name).set).sort()";
  expect(await run(older, cell)).toEqual([...LANGUAGE_NAMES].sort());
});

test("a guest of an earlier version awaits builtins that it lacked, across images too", async () => {
  const sandbox = await broughtForward("const kept = 2; helpers.add('twice', 'const twice = (x) => 2 * x;'); 1");
  const images = keepImages();
  await keepBaseline(sandbox, images);
  const source =
    "const first = await later(3); result = [kept, twice(first), await later('b'), await fails('c').catch(({ code }) => code)]";
  const host = recorder(sandbox, images);
  const ended = await exec(sandbox, { source, state: newState("y", 2), facts: null }, host);
  expect(ended.end).toMatchObject({ kind: "ok", result: '[2,6,"b","c"]' });
  for (const { id, state, waiting } of host.saved) {
    const resumed = await openGuest({ image: { image: images.image(id), pending: "keep", cells: [] } });
    onTestFinished(() => resumed[Symbol.asyncDispose]());
    const later = await resume(resumed, { source, state, facts: null, waiting }, recorder(resumed, undefined));
    expect(later.end).toEqual(ended.end);
  }
});

test("a helper's name that is removed is again the builtin that was brought", async () => {
  const sandbox = await broughtForward("helpers.add('mine', 'const help = () => 5;'); 1");
  const state = newState("y", 2);
  expect(await run(sandbox, "helpers.remove('mine'); help()", state)).toBe(5);
  expect(await run(sandbox, "help('peek').slice(0, 13)", newState("y", 3))).toBe("function peek");
});
