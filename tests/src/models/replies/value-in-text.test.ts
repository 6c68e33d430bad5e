import { describe, expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { readValue } from "../../../../src/models/replies/value-in-text.ts";

const KIND = { type: "string", enum: ["complaint", "praise"] };
const LABEL = { type: "object", properties: { kind: KIND }, required: ["kind"], additionalProperties: false };
const MOOD = {
  type: "object",
  properties: { mood: { type: "string", enum: ["happy", "sad"] }, n: { type: "integer" } },
  required: ["mood", "n"],
};
const PRAISE = '{"kind":"praise"}';
const COMPLAINT = '{"kind":"complaint"}';
const fenced = (text: string, language = "json") => `\`\`\`${language}\n${text}\n\`\`\``;
const numbers = (most: number) => Array.from({ length: most }, (_, at) => `[${at + 1}]`).join(" ");

const DIFFER = "two values in the answer fit, and they differ: give the one that counts, and nothing else";
const CUT = "the answer ends within a value";
const TWICE = "an object has two properties of one name";

test.each<[string, string, Json]>([
  ["alone", ' {"n": 1} ', { n: 1 }],
  ["behind a byte order mark", '\uFEFF{"n": 1}', { n: 1 }],
  ["fenced", 'Here:\n```json\n{"n": 1}\n```\nDone.', { n: 1 }],
  ["in a fence that is not closed", '```json\n{"n": 1}', { n: 1 }],
  ["in prose, after brackets that do not fit", 'As in [1], {"x": 2}: {"n": 1}.', { n: 1 }],
  ["with brackets in strings", 'So: {"n": 1, "s": "}]"}', { n: 1, s: "}]" }],
  ["in tags", '<answer>{"n": 1}</answer>', { n: 1 }],
  ["behind brackets of words", 'In [0, 5) and { of words; :-[ too. So: {"n": 1}', { n: 1 }],
  ["before many sources", `{"n": 1}\n\nSources: ${numbers(25)}`, { n: 1 }],
  ["behind many of them", `${numbers(30)}\n{"n": 1}`, { n: 1 }],
  ["twice, in another order", '{"n": 1, "m": 2}\nthat is\n{"m": 2, "n": 1}', { m: 2, n: 1 }],
  ["with a name of prototypes", '{"__proto__": {"a": 1}, "n": 1}', JSON.parse('{"__proto__": {"a": 1}, "n": 1}')],
])("an answer is read: %s", (_, text, value) => {
  expect(readValue(text, { type: "object", required: ["n"] }, [])).toEqual({ ok: true, value });
});

test.each<[string, string, string]>([
  ["that is not JSON", "I cannot.", "the answer is not JSON"],
  ["that lacks a property", '{"m": 1}', 'the value lacks "n"'],
  ["in another object", '{"answer": {"n": 1}}', 'the value lacks "n"'],
  ["that was cut", '{"n": 1', CUT],
  ["of which only a part is whole", '{"n": 1, "all": [{"n": 2}, {"n": 3', CUT],
  ["that was cut behind a draft", 'Draft: {"n": 1}\nNo.\nFinal: {"n": ', CUT],
  ["with a property twice", '{"n": 1, "n": 2}', TWICE],
  ["with a property twice behind a draft", 'Draft: {"n": 1}\nNo.\n{"n": 1, "n": 2}', TWICE],
])("an answer %s is refused", (_, text, problem) => {
  expect(readValue(text, { type: "object", required: ["n"] }, [])).toEqual({ ok: false, problems: [problem] });
});

test("an answer that is too deep is refused, and so is a value of a program that does not fit as it is", () => {
  const deep = `${"[".repeat(90_000)}${"]".repeat(90_000)}`;
  expect(readValue(deep, {}, [])).toEqual({ ok: false, problems: ["the value is nested more than 200 deep"] });
  expect(readValue('"3"', { type: "integer" }, null)).toMatchObject({ ok: false });
  expect(readValue("3", { type: "integer" }, null)).toEqual({ ok: true, value: 3 });
});

describe("of two values that differ", () => {
  test.each<[string, string]>([
    ["a line of words", `Draft: ${PRAISE}\nOn a second look the parcel was late.\nFinal: ${COMPLAINT}`],
    ["a word that names the last one", `Draft: ${PRAISE}\nFinal answer: ${COMPLAINT}`],
    ["in another language", `Entwurf: ${PRAISE}\nEndgültig: ${COMPLAINT}`],
    ["in fences", `${fenced(PRAISE)}\nCorrection:\n${fenced(COMPLAINT)}`],
    ["in tags", `<draft>${PRAISE}</draft>\nNo, wait.\n<answer>${COMPLAINT}</answer>`],
    ["in a list of steps", `1. Draft: ${PRAISE}\n2. Final: ${COMPLAINT}`],
    ["twice", `${PRAISE}\nHmm, no.\n${COMPLAINT}\nThey also thank us:\n${PRAISE}\nNo, finally:\n${COMPLAINT}`],
    ["and a value that is only spoken of", `${COMPLAINT}\nI did not choose ${PRAISE}, since the parcel was late.`],
  ])("the last one counts: %s", (_, text) => {
    const mended = ["a draft beside it"];
    expect(readValue(text, LABEL, [])).toEqual({ ok: true, value: { kind: "complaint" }, mended });
  });

  test.each<[string, string]>([
    ["on one line", `${PRAISE} no: ${COMPLAINT}`],
    ["as JSON lines", `${PRAISE}\n${COMPLAINT}`],
    ["as many of them", `${PRAISE}\n${COMPLAINT}\n`.repeat(30)],
    ["in a numbered list", `1. ${PRAISE}\n2. ${COMPLAINT}`],
    ["in a list with words", `- for the first letter: ${PRAISE}\n- for the second letter: ${COMPLAINT}`],
    ["in a table", `| row one | ${PRAISE} |\n| row two | ${COMPLAINT} |`],
    ["as options", `Option A:\n${PRAISE}\nOption B:\n${COMPLAINT}`],
    ["as an alternative", `${PRAISE}\n\nOr, if you read it as sarcasm:\n\n${COMPLAINT}`],
    ["of two classes", `First letter: ${PRAISE}\nSecond letter: ${COMPLAINT}`],
    ["in tags", `<answer>${PRAISE}</answer>\n<answer>${COMPLAINT}</answer>`],
    ["only spoken of", `Not ${PRAISE} here.\nIt may be ${COMPLAINT} after all.`],
  ])("none counts: %s", (_, text) => {
    expect(readValue(text, LABEL, [])).toEqual({ ok: false, problems: [DIFFER] });
  });

  test("one that does not fit, and is the last try, is told of", () => {
    const problems = ['/kind must be one of ["complaint","praise"]'];
    expect(readValue(`Draft: ${PRAISE}\nNo.\nFinal: {"kind":"Complaint"}`, LABEL, [])).toEqual({ ok: false, problems });
    expect(readValue(`In: {"text":"late"}\nOut: ${COMPLAINT}\nFrom: {"text":"x"}`, LABEL, [])).toMatchObject({
      ok: true,
    });
  });

  test.each<[string, string]>([
    ["as it is", `Label this letter: ${PRAISE}`],
    ["with white space", 'Label this letter: {\n  "kind": "praise"\n}'],
    ["in a string", JSON.stringify({ letter: PRAISE })],
    ["without quotes", "kind: praise"],
  ])("one that the model was shown %s never counts against the other", (_, shown) => {
    expect(readValue(`${COMPLAINT}\nNote that the letter has:\n${PRAISE}`, LABEL, [shown])).toMatchObject({
      ok: false,
    });
    expect(readValue(`It has ${PRAISE}.\nMy answer is\n{'kind':'complaint'}`, LABEL, [shown])).toMatchObject({
      ...{ ok: true, value: { kind: "complaint" } },
    });
    expect(readValue(PRAISE, LABEL, [shown])).toEqual({ ok: true, value: { kind: "praise" } });
  });
});

describe("types that models write otherwise", () => {
  const OPTIONAL = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] };
  const MAYBE = { type: "object", properties: { n: { anyOf: [{ type: "integer" }, { type: "null" }] } } };
  const LIST = { type: "object", properties: { l: { type: "array", items: { $ref: "#/$defs/n" } } } };
  const LISTED = { ...LIST, $defs: { n: { type: "integer" } } };
  test.each<[string, Json, string, Json, string]>([
    ["a figure", MOOD, '{"mood":"happy","n":"3"}', { mood: "happy", n: 3 }, "figures in quotes"],
    ["a figure that may be null", MAYBE, '{"n":"3"}', { n: 3 }, "figures in quotes"],
    ["figures of a map", { additionalProperties: { type: "number" } }, '{"a":"1.5"}', { a: 1.5 }, "figures in quotes"],
    ["figures of a list", LISTED, '{"l":["1",2]}', { l: [1, 2] }, "figures in quotes"],
    ["a figure alone", { type: "integer" }, '"42"', 42, "figures in quotes"],
    ["true alone", { type: "boolean" }, '"True"', true, "figures in quotes"],
    ["a list in quotes", LISTED, '{"l":"[1,2]"}', { l: [1, 2] }, "encoded twice"],
    ["JSON of the JSON", MOOD, '"{\\"mood\\":\\"happy\\",\\"n\\":3}"', { mood: "happy", n: 3 }, "encoded twice"],
    ["its quotes escaped", MOOD, '{\\n \\"mood\\":\\"happy\\",\\"n\\":3}', { mood: "happy", n: 3 }, "encoded twice"],
    ["null", OPTIONAL, '{"a":"x","b":null}', { a: "x" }, "null for what is absent"],
  ])("%s", (_, schema, text, value, kind) => {
    expect(readValue(text, schema, [])).toEqual({ ok: true, value, mended: [kind] });
  });

  test.each<[string, Json, string]>([
    ["a figure where a text fits too", { properties: { n: { type: ["integer", "string"] } } }, '{"n":"3"}'],
    ["null where it fits", { properties: { n: { type: ["integer", "null"] } } }, '{"n":null}'],
  ])("%s stays as it is", (_, schema, text) => {
    expect(readValue(text, schema, [])).toEqual({ ok: true, value: JSON.parse(text) });
  });

  test("a word of the schema may come without quotes, but not in other words or letters", () => {
    const mended = ["punctuation"];
    for (const text of [
      "complaint",
      "**complaint**",
      "complaint.",
      '"complaint".',
      "`complaint`",
      "<a>complaint</a>",
      fenced("complaint", ""),
    ])
      expect(readValue(text, KIND, []), text).toEqual({ ok: true, value: "complaint", mended });
    const problems = ['the value must be one of ["complaint","praise"]'];
    for (const text of ["Complaint", "The answer is complaint", "complaints"])
      expect(readValue(text, KIND, []), text).toEqual({ ok: false, problems });
    expect(readValue("**2**", { enum: [1, 2] }, [])).toEqual({ ok: true, value: 2, mended });
    expect(readValue("42.", { type: "integer" }, [])).toEqual({ ok: true, value: 42, mended });
    expect(readValue("about 42", { type: "integer" }, [])).toMatchObject({ ok: false });
    expect(readValue("hello there", { type: "string" }, [])).toMatchObject({ ok: false });
  });
});

test.each<[string, string]>([
  ["12345678901234567890", "of 64 bits"],
  ["9007199254740993", "beyond 2^53"],
  ["1e400", "beyond all"],
])("the figure %s, %s, cannot be asked for again", (figure) => {
  const problems = [`${figure} has more digits than a number of JavaScript keeps`];
  expect(readValue(`{"mood":"happy","n":${figure}}`, MOOD, [])).toEqual({ ok: false, problems, isFinal: true });
});

test("a figure that is held stays quiet, and a rounded fraction is told", () => {
  for (const figure of ["1e20", "9007199254740992", "3.0", "-0"])
    expect(readValue(`{"mood":"happy","n":${figure}}`, MOOD, [])).toEqual({
      ...{ ok: true, value: { mood: "happy", n: Number(figure) } },
    });
  const rounded = { ok: true, value: { n: 0.3333333333333333 }, mended: ["rounded figures"] };
  expect(readValue('{"n":0.33333333333333333333}', {}, [])).toEqual(rounded);
});

test.each([
  "Actually, scrap that: it is a complaint.",
  "Wait, that is wrong.",
  "Sorry, I made a mistake above.",
  "On reflection the kind should be complaint instead.",
  "Korrektur: es ist eine Beschwerde.",
])("a value that the words behind it take back does not count: %s", (words) => {
  expect(readValue(`${PRAISE}\n\n${words}`, LABEL, [])).toMatchObject({ ok: false });
});

test.each(["Let me know if you need more.", "The letter says that it is wrong.", "Sorry for the wait."])(
  "words behind a value that take nothing back leave it: %s",
  (words) => {
    expect(readValue(`${PRAISE}\n\n${words}`, LABEL, [])).toEqual({ ok: true, value: { kind: "praise" } });
  },
);

test("a schema is no answer to itself", () => {
  const open = { type: "object", properties: { kind: { type: "string" } } };
  for (const text of [JSON.stringify(open), fenced(JSON.stringify(open)), '{"properties":{"kind":"praise"}}']) {
    expect(readValue(text, open, [])).toMatchObject({ ok: false, problems: [expect.stringContaining("is a schema")] });
  }
});
