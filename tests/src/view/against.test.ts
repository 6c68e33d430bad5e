import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSessionWith } from "../../../src/session/index.ts";
import { lookAt } from "../../../src/view/session-trace.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { folderWith, grow } from "../../support/tree.ts";
import { textsIn } from "../../support/view/traced.ts";

const TRACING = { texts: true, maxBytes: 2 ** 25, belay: "0.0.0", now: 0 };
const KEY = `sk-${"k".repeat(40)}`;

/** Texts, each of which stands in one place of the two sessions, or in the documents. */
function openCanaries() {
  const all: string[] = [];
  const next = (place: string) => {
    all.push(`canary-${all.length + 1}-${place.replaceAll(" ", "-")}`);
    return all.at(-1) ?? "";
  };
  return { all, next };
}

/** Two sessions over a folder that changed between them, with a canary in every place that the comparison can tell. */
async function twoSessions() {
  const { all, next } = openCanaries();
  const path = folderWith({ "docs/same.md": next("equal text") });
  const three = (is: string) => Array.from({ length: 3 }, () => `${next(`id of ${is}`)}.md`).toSorted();
  const ids = { changed: three("changed"), new: three("new"), gone: three("gone") };
  const write = (names: readonly string[], text: string) => {
    for (const name of names) grow(path, { [`docs/${name}`]: next(text) });
  };
  write([...ids.changed, ...ids.gone], "old text");
  const first = await openScripted(({ messages }) => `${messages.length} ${next("answer")}`, {
    ...{ roots: [path], cwd: path, session: next("old name"), cache: true },
  });
  const { store, model } = first;
  const models = { fallback: "test/scripted", resolve: () => model, price: () => model.price };
  const options = { roots: [path], cwd: path, session: next("new name"), cache: true };
  const second = await openSessionWith(options, { store, models, random: () => 0 });
  const ask = (prompt: string) => `await llm_query(${prompt}, { tools: [] })`;
  const [shared, again] = [JSON.stringify(next("same prompt")), JSON.stringify(next("again"))];
  const inside = ids.changed.map((id) => ask(`"What? " + peek_doc("${id}")`));
  for (const session of [first.session, second]) {
    const is = session === first.session ? "old" : "new";
    await session.load("docs");
    const cells = [ask(shared), `await llm_query(${again})`, inside.join(";\n"), ask(`"${next(`${is} prompt`)}"`)];
    for (const code of [...cells, `"the key is ${KEY}\\n${next(`${is} result`)}"`]) {
      expect(await session.exec(code)).toMatchObject({ success: true });
    }
    await session.close();
    write([...ids.changed, ...ids.new], "new text");
    for (const name of ids.gone) rmSync(join(path, "docs", name), { force: true });
  }
  return { store, all, ids, older: first.session.id, newer: second.id };
}

test("the head says what a session did otherwise than another one", async () => {
  const { store, ids, older, newer, all } = await twoSessions();
  const { trace, damaged } = await lookAt(store, newer, TRACING, older);
  expect(damaged).toEqual([]);
  const { against } = trace.head;
  expect(against?.told).toBe(
    "3 of 7 documents changed, 3 new, 3 gone; 1 call answered from the cache, 4 asked again, 1 asked for the first time ($0.0050), 1 not asked any more; the result changed in 1 line",
  );
  expect(against?.documents?.listed).toEqual(ids);
  expect(against?.calls.map(({ is, exec, call, why }) => `${is} ${exec}.${call}: ${why}`)).toEqual([
    "again 3.1: has tools",
    ...["new 4.1: document changed", "new 4.2: document changed", "new 4.3: document changed", "new 5.1: cell changed"],
    ...["gone 4.1: null", "gone 4.2: null", "gone 4.3: null", "gone 5.1: null"],
  ]);
  const told = JSON.stringify(against);
  const seen = all.filter((canary) => told.includes(canary)).map((canary) => canary.replace(/^canary-\d+-/, ""));
  const names = ["id-of-changed", "id-of-new", "id-of-gone", "old-name", "again", "new-text", "old-text"];
  expect(new Set(seen)).toEqual(new Set([...names, "old-prompt", "new-prompt", "old-result", "new-result"]));
  expect(JSON.stringify([trace.head, textsIn(trace)])).not.toContain("sk-k");
  expect(told).toContain("the key is [redacted: 43 characters]");
  expect((await lookAt(store, newer, TRACING)).trace.head.against).toBeUndefined();
});

test("without texts no canary is left, and the figures and reasons are", async () => {
  const { store, older, newer, all } = await twoSessions();
  expect(all.length).toBeGreaterThanOrEqual(40);
  const { trace } = await lookAt(store, newer, { ...TRACING, texts: false }, older);
  const whole = (await lookAt(store, newer, TRACING, older)).trace.head.against;
  const head = JSON.stringify(trace.head);
  expect(all.filter((canary) => head.includes(canary))).toEqual([]);
  expect(head).not.toContain("canary");
  expect(trace.chunks).toEqual([]);
  const { against } = trace.head;
  expect(against?.told).toBe(whole?.told);
  expect(against).toMatchObject({ against: { id: older, name: null }, counts: whole?.counts, past: whole?.past });
  expect(against?.calls.map(({ is, exec, call, why, was }) => ({ is, exec, call, why, was }))).toEqual(
    whole?.calls.map(({ is, exec, call, why, was }) => ({ is, exec, call, why, was })),
  );
  expect(against?.result).toEqual({ is: "changed", lines: 1, hunks: null });
});
