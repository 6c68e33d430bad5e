import { expect, test } from "vitest";
import { warningText } from "../../../../src/cli/render/warnings.ts";
import { describeExecs } from "../../../../src/history/index.ts";
import type { ModelAnswer, ModelRequest } from "../../../../src/models/index.ts";
import { warningForModel } from "../../../../src/session/ask/observe.ts";
import { mendedBy, repliesTold } from "../../../../src/session/journal/exec-warnings.ts";
import { openScripted, promptOf, USAGE, using } from "../../../support/scripted-session.ts";

const TOLD = "replies_mended: 2 (punctuation, thinking without its beginning)";
const CALLS = "await llm_query('punctuation', []), await llm_query('thinking without its beginning', [])";

/** A reply in which this was put right when it came in. */
const mended = (text: string, ...kinds: readonly string[]): ModelAnswer => ({
  ...{ ok: true, usage: USAGE, charged: true },
  turn: { text, toolUses: [], stop: "end", raw: null, mended: kinds },
});

/** Calls get an answer that was mended as their prompt says. An ask runs one cell, and answers in text. */
function answer(request: ModelRequest): ModelAnswer {
  const [tool] = request.tools;
  const prompt = promptOf(request);
  if (!tool) return mended("ok", prompt);
  if (request.messages.length > 1) return mended("done", "punctuation");
  const code = prompt.startsWith("above") ? "await llm_query('below', { context: P })" : "print(P); peek(0, 1)";
  return using(tool.name, { code });
}

test("what was put right in replies is told once for all calls of a cell, and kept with each", async () => {
  const scene = await openScripted(answer);
  expect(await scene.session.exec(`${CALLS}, await llm_query('punctuation', [])`)).toMatchObject({
    warnings: [TOLD.replace("2", "3")],
  });
  const execs = describeExecs(await scene.journal());
  expect(execs[0]?.calls.map((call) => call.mended)).toEqual([
    ["punctuation"],
    ["thinking without its beginning"],
    ["punctuation"],
  ]);
});

test("an answer that a later call takes over is told again, and only the first is asked for", async () => {
  const { session, seen } = await openScripted(answer, { cache: true });
  const cell = "await llm_query('punctuation', [])";
  const told = { success: true, warnings: ["replies_mended: 1 (punctuation)"] };
  expect([await session.exec(cell), await session.exec(cell)]).toMatchObject([told, told]);
  expect(seen.prompts).toHaveLength(1);
});

test("the caller of an ask hears of its turns and cells, and that of a child of the child's", async () => {
  const { session, journal } = await openScripted(answer);
  await session.load({ name: "a.txt", text: "some text" });
  expect(await session.ask("above")).toMatchObject({ success: true, warnings: ["replies_mended: 2 (punctuation)"] });
  const [below] = describeExecs(await journal()).filter(({ kind }) => kind === "cell");
  expect(below).toMatchObject({ warnings: ["replies_mended: 1 (punctuation)"] });
});

test("the warning is a sentence for people and for models, and its kinds can be read from it", () => {
  const told = repliesTold([{ mended: ["punctuation"] }, {}, { mended: ["thinking without its beginning"] }]);
  expect(told).toEqual([TOLD]);
  expect(mendedBy(["x", ...told])).toEqual(["punctuation", "thinking without its beginning"]);
  expect(mendedBy(["replies_mended"])).toBeUndefined();
  const sentence = "small faults in replies of models were mended: 2 (punctuation, thinking without";
  expect(warningText(TOLD)).toContain(sentence);
  expect(warningForModel(TOLD)).toContain(sentence);
});
