import { describe, expect, test } from "vitest";
import { type GivenUse, parseArguments, toolUses } from "../../../../src/models/replies/tool-use.ts";

const TOOLS = [{ name: "rlm_exec" }];
const use = (fields: Partial<GivenUse>): GivenUse => ({ id: "1", name: "rlm_exec", arguments: undefined, ...fields });
const read = (text: string) => toolUses([use({ text })], TOOLS)[0];
const code = (source: string) => ({ arguments: { code: source } });

test("ids become texts that differ, also from each other's replacements", () => {
  const given = [7, "a", "a", undefined, "", null, "a#2", {}, "#3"].map((id) => use({ id }));
  const ids = toolUses(given, TOOLS).map(({ id }) => id);
  expect(new Set(ids).size).toBe(given.length);
  expect(ids.slice(0, 2)).toEqual(["7", "a"]);
});

test.each([
  ["functions.rlm_exec", "rlm_exec"],
  ["functions.rlm_exec:0", "rlm_exec"],
  ["rlm_exec<|channel|>commentary", "rlm_exec"],
  [" rlm_exec\n", "rlm_exec"],
  ["default_api:rlm_exec", "rlm_exec"],
  ["python", "python"],
  ["web search!", "web_search_"],
  ["", "unnamed"],
  [null, "unnamed"],
])("the name %j is that of %s", (name, expected) => {
  expect(toolUses([use({ name })], TOOLS)[0]?.name).toBe(expected);
});

describe("arguments", () => {
  test.each([
    ['{"code":"1"}', code("1")],
    [JSON.stringify('{"code":"1"}'), code("1")],
    ['```json\n{"code":"1"}\n```', code("1")],
    ['{"code":"1",}', code("1")],
    ['{"code":"a\nb"}', code("a\nb")],
    [String.raw`{"code":"/\d+/.test(x)"}`, code(String.raw`/\d+/.test(x)`)],
    ['{"code":"9007199254740993: {a: 1, a: 2}"}', code("9007199254740993: {a: 1, a: 2}")],
    ['{"share":0.10000000000000000555}', { arguments: { share: 0.1 } }],
    ["", { arguments: {} }],
    ["{}", { arguments: {} }],
  ])("%j can be read", (text, expected) => {
    expect(read(text)).toMatchObject(expected);
    expect(read(text)).not.toHaveProperty("problem");
  });

  test.each([
    ['{"code":"globalThis.total = 12', "not valid JSON"],
    ['{"code":"1"', "not valid JSON"],
    ['{"code":"1"} and more', "not valid JSON"],
    [`{'code': 'count("ok")'}`, "not valid JSON"],
    [String.raw`{"code":"open('C:\new\x')"}`, "not valid JSON"],
    ['{"id":9007199254740993}', "have 9007199254740993, which has more digits than a number keeps"],
    ['{"ids":[1,12345678901234567890],}', "have 12345678901234567890"],
    ['{"code":"1","code":"2"}', "have two properties of one name"],
    [`{"a":${"[".repeat(300)}${"]".repeat(300)}}`, "are nested more than 200 deep"],
    ["null", "are null, not a JSON object"],
    ["5", "are a number"],
    ["[1]", "are a list"],
  ])("%j are empty, and the model is told", (text, problem) => {
    expect(read(text)).toMatchObject({ arguments: {}, problem: expect.stringContaining(problem) });
  });

  test("a program may give them as a value or as JSON, and a problem stays one when its record is read", () => {
    const uses = [{ code: "1" }, '{"code":"1"}', null, undefined].map((given) => use({ arguments: given }));
    const recorded = toolUses(uses, TOOLS);
    expect(recorded.map((use) => use.arguments)).toEqual([{ code: "1" }, { code: "1" }, {}, {}]);
    expect(recorded[2]?.problem).toContain("null");
    expect(toolUses(recorded, [])).toEqual(recorded);
  });

  test("hostile ones are refused soon", () => {
    for (const unit of ['"', '\\"', "\\", "{", ",}", '{"a":']) {
      const text = `{"${unit.repeat(50_000)}`;
      expect(() => parseArguments(text)).toThrow(SyntaxError);
    }
  });
});
