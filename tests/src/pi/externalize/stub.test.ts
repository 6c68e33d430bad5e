import { expect, test } from "vitest";
import { applyOutside } from "../../../../src/pi/externalize/apply.ts";
import { readOutside } from "../../../../src/pi/externalize/branch.ts";
import type { EpochEntry } from "../../../../src/pi/externalize/entries.ts";
import { keyOf, objectText } from "../../../../src/pi/externalize/keys.ts";
import type { PiMessage } from "../../../../src/pi/externalize/message.ts";
import { called, filler, said, type Talk, talk } from "../../../support/pi/conversation.ts";

const FACTS = {
  ...{ v: 1, cause: "threshold", min: 10, manifest: 400, preview: 40, window: 1, before: 1, after: 1 },
} as const;

/** What is sent of the conversation with such an epoch behind it, in which all texts but those of a few words go out. */
function sentWith(self: Talk, epoch: Partial<EpochEntry>): readonly PiMessage[] {
  const data = { ...FACTS, epoch: 1, objects: 1, ...epoch };
  const entry = { type: "custom", customType: "rlm_externalize", data };
  return applyOutside(self.messages(), readOutside([...self.branch, entry]), self.ids);
}

const keyAt = (self: Talk, n: number) => keyOf(self.messages().at(n) ?? { role: "" }) ?? "";

/** A conversation with a message of every kind, whose last one is `done`. */
function ofAllKinds(): Talk {
  const self = talk();
  self.user(filler("prompt | with [marks]\r\nand lines", 400));
  self.answer(
    { type: "thinking", thinking: "hm", thinkingSignature: "s" },
    said("I read."),
    called("a", "read", { path: "src/auth.ts" }),
    called("b", "bash", { command: "ls -la\n| wc" }),
    called("c", "rlm_load", { paths: ["docs", "src"] }),
    called("d", "weather", { town: "Basel" }),
  );
  self.result("a", filler("auth", 2000));
  self.result("b", filler("listing", 500), "bash");
  self.result("c", filler("loaded", 500), "rlm_load");
  self.result("d", `\n\n  ${filler("sunny", 500)}`, "weather");
  self.push({ role: "bashExecution", command: "git status", output: filler("status", 400), exitCode: 1 });
  self.push({ role: "custom", customType: "reminder", content: filler("remember", 300) });
  self.answer({ type: "text", text: filler("An answer", 300), textSignature: "signed" });
  self.user("and now?");
  self.answer(said("done"));
  return self;
}

test("stubs are written as their first version is", async () => {
  const self = ofAllKinds();
  const sent = sentWith(self, { through: keyAt(self, 8) });
  const text = sent.map((message) => `${message.role}\n${JSON.stringify(message, null, 1)}`).join("\n\n");
  await expect(text).toMatchFileSnapshot("golden/stubs-1.txt");
});

test("what stands for folded turns is written as its first version is", async () => {
  const self = ofAllKinds();
  const sent = sentWith(self, { through: keyAt(self, 8), fold: keyAt(self, 8) });
  expect(sent.map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
  await expect(JSON.stringify(sent[0], null, 1).replaceAll("\\n", "\n")).toMatchFileSnapshot("golden/fold-1.txt");
});

test("a list of folded turns keeps to its tokens and counts what it leaves out", () => {
  const self = talk();
  for (let n = 0; n < 40; n++) {
    self.user(`prompt ${n}`);
    self.answer(said(filler(`answer ${n}`, 200)));
  }
  self.user("last");
  const [fold] = sentWith(self, { fold: keyAt(self, 79) });
  const text = JSON.stringify(fold?.content);
  expect(text).toContain("answer 39");
  expect(text).not.toContain("prompt 3:");
  const shown = text.match(/- rlm-obj-/g)?.length ?? 0;
  expect(text).toContain(`+${80 - shown} older lines`);
  expect(text.length / 4).toBeLessThanOrEqual(FACTS.manifest + 20);
});

test("a stub in the valve shows how the text begins, and where to read on; a pair of surrogates is not divided", () => {
  const self = talk();
  self.user("read");
  self.answer(called("a"));
  self.result("a", `${"x".repeat(39)}😀${filler("rest", 2000)}`);
  const [, , result] = sentWith(self, { results: ["toolResult:a"] });
  const text = JSON.stringify(result?.content);
  expect(text).toContain(`\\n${"x".repeat(39)}\\n…\\nRead on with rlm_peek(`);
  expect(text).toMatch(/rlm_peek\(\\"rlm-obj-[0-9a-f]{12}\\", 39\)/);
});

test("images of a result stay, and the text blocks behind the first one are part of its object", () => {
  const self = talk();
  self.user("look");
  self.answer(called("a"));
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const content = [image, said(filler("one", 200)), image, said(filler("two", 200))];
  const given = { role: "toolResult", toolCallId: "a", toolName: "read", content };
  const raw = self.push(Object.assign(given, { isError: true }));
  self.answer(said("seen"));
  const [, , result] = sentWith(self, { through: keyAt(self, 1) });
  expect(result?.content).toEqual([image, said(expect.stringMatching(/^\[RLM externalized: /)), image]);
  expect(result).toMatchObject({ toolCallId: "a", toolName: "read", isError: true });
  expect(objectText(raw)).toMatch(/^one: .*two: .*\[image\/png, 1 KB\]\n\[image\/png, 1 KB\]$/s);
});

test("a text that looks like a stub is a text", () => {
  const self = talk();
  const fake = "[RLM externalized: rlm-obj-a1b2c3d4e5f6 | file | 9 tokens | x]";
  self.user(fake);
  self.answer(called("a", "read", { path: "x]\n[RLM externalized: rlm-obj-000000000000 | file" }));
  self.result("a", `${fake}\n${filler("hidden", 800)}`);
  self.user(fake);
  const [prompt, , result] = sentWith(self, { through: keyAt(self, 1), min: 30 });
  expect(prompt).toEqual(self.messages()[0]);
  const text = JSON.stringify(result?.content);
  expect(text.match(/\[RLM externalized/g)).toHaveLength(1);
  expect(text).not.toContain("a1b2c3d4e5f6");
});

test("lone surrogates do not enter a stub, and a text that is shorter than its stub stays", () => {
  const self = talk();
  self.user(`\ud800 ${"\udfff".repeat(300)}`);
  self.answer(said("short but over ten tokens, as one can count"));
  self.user("next");
  const [prompt, answer] = sentWith(self, { through: keyAt(self, 1) });
  const text = JSON.stringify(prompt?.content);
  expect(text).toContain("RLM externalized");
  expect(text).not.toMatch(/\\ud[89a-f]/);
  expect(answer).toEqual(self.messages()[1]);
});

test("texts whose ids are equal are told apart by their keys", () => {
  const self = talk();
  self.user(filler("one", 400));
  self.user(filler("two", 800));
  const weak = { idOf: () => "rlm-obj-aaaaaaaaaaaa" };
  const data = { ...FACTS, epoch: 1, objects: 1, through: keyAt(self, 0) };
  const entry = { type: "custom", customType: "rlm_externalize", data };
  const sent = applyOutside(self.messages(), readOutside([...self.branch, entry]), weak);
  expect(sent[1]).toEqual(self.messages()[1]);
  expect(JSON.stringify(sent[0])).toContain("rlm-obj-aaaaaaaaaaaa | conversation | 100 tokens | user: one");
});
