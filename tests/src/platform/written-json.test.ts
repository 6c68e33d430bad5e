import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, cellJson, isHeld } from "../../../src/platform/cell-json.ts";
import { mayPrintOtherwise, readJson, wholeNumber } from "../../../src/platform/written-json.ts";

/** Numbers as JSON can have them, in all spellings. */
const spelled = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.\d{1,22}$/), fc.stringMatching(/^\.0{1,8}\d?$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
  )
  .map((parts) => parts.join(""));

test("every number comes out as it went in, whatever stands around it", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      spelled,
      fc.string().map((text) => JSON.stringify(text)),
      tie("list"),
      tie("fields"),
    ),
    list: fc.array(tie("any")).map((items) => `[${items.join(",")}]`),
    fields: fc.array(tie("any")).map((items) => `{${items.map((item, at) => `"f${at}":${item}`).join(",")}}`),
  })).any;
  fc.assert(
    fc.property(value, (text) => {
      expect(JSON.stringify(readJson(String(text)))).toBe(JSON.parse(`[${JSON.stringify(text)}]`)[0]);
    }),
  );
});

test.each(
  "1234567890123456789 9007199254740993 -9007199254740993.0 12345678901234567168 18446744073709551615 0.1234567890123456789 3.14159265358979323846 12345678901234567.5 1e400 -1e400 1e-400".split(
    " ",
  ),
)("JavaScript would round %s", (written) => {
  expect(isHeld(written)).toBe(false);
});

test.each(
  "0 -0 0.0 0e99 1.0 1.50 1e3 1E+3 9007199254740992 100000000000000000000 1e23 0.10000000000000001 0.30000000000000004 4.9e-324 0.1000000000000000055511151231257827021181583404541015625".split(
    " ",
  ),
)("JavaScript holds %s", (written) => {
  expect(isHeld(written)).toBe(true);
});

test("a number that was printed from JavaScript's is held, with 17 digits too", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(isHeld(String(value))).toBe(true);
      // A whole number must print the same digits, since it may be an id.
      if (!Number.isInteger(value)) expect(isHeld(value.toPrecision(17))).toBe(true);
    }),
  );
});

test("a cell gets the digits as a text, and the fields that have such numbers are named", () => {
  const big = "1234567890123456789";
  const asked = `{"id":${big},"n":1.50,"user":{"ids":[1,${big},[${big}]],"a b":${big}},"\\u001b":[${big}],"__proto__":${big}}`;
  expect(cellJson(asked)).toEqual({
    json: asked.replaceAll(big, `"${big}"`),
    asText: ["id", "user.ids", 'user."a b"', '"\\u001b"', "__proto__"],
  });
  expect(cellJson(big)).toEqual({ json: `"${big}"`, asText: [""] });
  expect(cellJson('{"a":-0,"b":"1234567890123456789"}')).toMatchObject({ asText: [] });
});

test("of many fields the first are named, and long names are cut", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${"x".repeat(1000)}${at}`, 0]));
  const { asText } = cellJson(JSON.stringify(many).replaceAll(":0", ":1e999"));
  expect(asText).toEqual([`${"x".repeat(100)}…`]);
  const named = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, 0]));
  expect(cellJson(JSON.stringify(named).replaceAll(":0", ":1e999")).asText).toEqual(
    "f0,f1,f2,f3,f4,45 more fields".split(","),
  );
});

test("lines of the usual kind need no second look", () => {
  const line =
    '{"at":"2024-01-01T10:00:00.000Z","key":"0b9e1c3e-4e2b-11ee","n":-0.5,"tel":"+491701234567","card":"4111111111111111"}';
  expect(mayPrintOtherwise(line)).toBe(false);
});

test("equal numbers are equal, however they are written, and two that JavaScript would round to one are not", () => {
  const canonical = (text: string) => canonicalJson(readJson(text));
  expect(canonical('{"b":1.0,"a":-0}')).toBe(canonical('{"a":0,"b":1e0}'));
  expect(canonical("1234567890123456789")).not.toBe(canonical("1234567890123456788"));
});

test("a number of a million digits takes no long time", () => {
  const zeros = "0".repeat(1e6);
  for (const written of [`1${zeros}1`, `0.${zeros}1`, `1${zeros}`, `0.${zeros}`]) {
    expect(JSON.stringify(readJson(written))).toBe(written);
    isHeld(written);
  }
});

test("a whole number of a database is a number if JavaScript holds it", () => {
  expect([5n, -(2n ** 53n) + 1n].map(wholeNumber)).toEqual([5, -(2 ** 53) + 1]);
  expect(JSON.stringify([2n ** 63n, -(2n ** 53n)].map(wholeNumber))).toBe("[9223372036854775808,-9007199254740992]");
});
