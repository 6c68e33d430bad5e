import fc from "fast-check";
import { Check } from "typebox/schema";
import { expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { placeholderFor } from "../../../../src/models/schema/placeholder.ts";
import { checkSchema, violations } from "../../../../src/models/schema/schema.ts";

type Schema = { [keyword: string]: Json };

/** Random schemas of what answers are checked for, without patterns; each allows some value. */
const { schema: schemas } = fc.letrec<{ schema: Schema; leaf: Schema; node: Schema }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom<Schema>({}, { type: "null" }, { type: "boolean" }, { type: ["integer", "null"] }),
    fc
      .tuple(fc.nat(5), fc.nat(20))
      .map(([low, more]): Schema => ({ type: "string", minLength: low, maxLength: low + more })),
    fc
      .tuple(fc.integer({ min: -50, max: 50 }), fc.nat(50), fc.boolean())
      .map(([low, more, whole]): Schema => ({ type: whole ? "integer" : "number", minimum: low, maximum: low + more })),
    fc.integer({ min: 1, max: 20 }).map((step): Schema => ({ type: "integer", multipleOf: step, exclusiveMinimum: 3 })),
    fc
      .array(fc.oneof(fc.string({ maxLength: 3 }), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 3 })
      .map((values): Schema => ({ enum: values })),
    fc.json({ maxDepth: 1 }).map((text): Schema => ({ const: JSON.parse(text) })),
  ),
  node: fc.oneof(
    fc.tuple(tie("schema"), fc.nat(3)).map(([items, least]): Schema => ({ type: "array", items, minItems: least })),
    fc
      .nat(4)
      .map((least): Schema => ({ type: "array", items: { type: "integer" }, minItems: least, uniqueItems: true })),
    fc
      .tuple(tie("schema"), tie("schema"))
      .map(([one, two]): Schema => ({ type: "array", prefixItems: [one, two], items: false, minItems: 1 })),
    fc
      .tuple(
        fc.dictionary(fc.constantFrom("a", "b", "c", "d e"), tie("schema"), { maxKeys: 3 }),
        fc.boolean(),
        fc.boolean(),
      )
      .map(
        ([properties, closed, all]): Schema => ({
          type: "object",
          properties,
          required: all ? Object.keys(properties) : Object.keys(properties).slice(0, 1),
          ...(closed ? { additionalProperties: false } : { minProperties: 2 }),
        }),
      ),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf): Schema => ({ anyOf })),
    tie("schema").map((inner): Schema => ({ allOf: [inner, {}] })),
    tie("schema").map((inner): Schema => ({ oneOf: [inner, false] })),
  ),
  schema: fc.oneof({ maxDepth: 3, depthIdentifier: "schema" }, tie("leaf"), tie("node")),
}));

const values = fc.oneof(
  fc.json({ maxDepth: 3 }).map((text): Json => JSON.parse(text, small)),
  fc.oneof(fc.integer({ min: -60, max: 60 }), fc.string({ maxLength: 8, unit: "grapheme-ascii" }), fc.constant(null)),
  fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }),
);

/** typebox rounds when it looks for multiples: among large numbers it finds some that are none. */
function small(_: string, value: Json): Json {
  return typeof value === "number" ? Math.trunc(value % 1000) || value % 1 : value;
}

test("a value conforms where typebox says so", () => {
  let conforming = 0;
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const expected = Check(schema, value);
      conforming += expected ? 1 : 0;
      expect(violations(schema, value).length === 0).toBe(expected);
    }),
    { numRuns: 600 },
  );
  expect(conforming).toBeGreaterThan(15);
});

test("a placeholder conforms to its schema, as typebox says", () => {
  fc.assert(
    fc.property(schemas, (schema) => {
      checkSchema(schema);
      const value = placeholderFor(schema);
      expect(Check(schema, value), JSON.stringify(value)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

const TREE = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
      required: ["name", "children"],
    },
  },
};

test("a recursive schema is checked at every depth", () => {
  checkSchema(TREE);
  const value = { name: "a", children: [{ name: "b", children: [{ name: 5, children: [] }] }] };
  expect(violations(TREE, value)).toEqual(["/children/0/children/0/name is integer, must be string"]);
  expect(placeholderFor(TREE)).toEqual({ name: "placeholder", children: [] });
});

test("placeholders are small, and of a shape that a cell can parse", () => {
  const schema = {
    type: "object",
    properties: {
      ...{ day: { type: "string", format: "date" }, code: { type: "string", pattern: "^[A-Z]{2}$" } },
      ...{ kind: { enum: ["bug", "question"] }, list: { type: "array", items: { type: "number" } } },
      note: { type: "string" },
    },
    required: ["day", "code", "kind", "list"],
  };
  expect(placeholderFor(schema)).toEqual({ day: "2000-01-01", code: "AA", kind: "bug", list: [] });
  expect(placeholderFor({ allOf: [{ type: "integer", minimum: 3 }, { maximum: 3 }] })).toBe(3);
});

test.each<Json>([
  { type: "string", pattern: "^x{40}y$" },
  { type: "string", enum: [5] },
  { type: "integer", minimum: 5, maximum: 4 },
  { $ref: "#" },
  { anyOf: [{ $ref: "#" }, { $ref: "#" }], type: "object", required: ["a"] },
  { type: "array", minItems: 1, items: { $ref: "#" } },
  false,
])("a schema that no placeholder is found for gives {}: %j", (schema) => {
  expect(placeholderFor(schema)).toEqual({});
});

test("problems say where and what, ten at the most", () => {
  const schema = {
    type: "object",
    properties: {
      ...{ kind: { enum: ["bug", "question"] }, n: { type: "integer", minimum: 1, multipleOf: 2 } },
      text: { type: "string", minLength: 2, pattern: "^[a-z]+$" },
      list: { type: "array", items: { type: "boolean" }, uniqueItems: true, maxItems: 3 },
      either: { anyOf: [{ type: "null" }, { type: "integer" }] },
      one: { oneOf: [{ minimum: 1 }, { maximum: 5 }] },
    },
    required: ["kind", "gone"],
    additionalProperties: false,
  };
  const value = { kind: "x", n: 0.5, text: "É", list: [true, 1, true, true], either: "a", one: 3, more: 1 };
  expect(violations(schema, value)).toEqual([
    'the value lacks "gone"',
    '/kind must be one of ["bug","question"]',
    "/n is number, must be integer",
    "/n is below 1",
    "/n is not a multiple of 2",
    "/text has fewer than 2 characters",
    '/text does not match "^[a-z]+$"',
    "/list has more than 3 items",
    "/list repeats an item",
    "/list/1 is integer, must be boolean",
  ]);
  expect(violations(schema, { kind: "bug", gone: 1 })).toEqual(["/gone is not allowed"]);
});

test("hostile schemas and values end in time, with a problem", () => {
  const doubling = {
    $ref: "#/$defs/a",
    $defs: {
      a: {
        anyOf: [
          { items: { $ref: "#/$defs/a" }, minItems: 1 },
          { items: { $ref: "#/$defs/a" }, maxItems: 0 },
        ],
      },
    },
  };
  const deep = JSON.parse(`${"[".repeat(150)}${"]".repeat(150)}`);
  checkSchema(doubling);
  const problem = ["the value and its schema are too large or too deeply nested to be compared"];
  const many = {
    $defs: { a: { allOf: Array.from({ length: 3 }, () => ({ items: { $ref: "#/$defs/a" } })) } },
    $ref: "#/$defs/a",
  };
  expect(violations(many, deep)).toEqual(problem);
  expect(violations({ anyOf: [{ $ref: "#" }] }, 1)).toEqual(problem);
  expect(violations({ enum: Array.from({ length: 5000 }, (_, n) => n) }, -1)).toHaveLength(1);
  const backtracking = { type: "string", pattern: "^(a+)+$" };
  expect(violations(backtracking, `${"a".repeat(50_000)}b`)).toHaveLength(1);
});

test.each<[string, Json, RegExp]>([
  ["a list", [], /^schema is not an object/],
  ["a string", "string", /^schema is not an object/],
  ["an unsupported keyword", { properties: { a: { not: {} } } }, /unsupported keyword at \/properties\/a\/not/],
  ["a misspelt keyword", { requird: [] }, /unsupported keyword at \/requird/],
  ["an inherited name", { constructor: {} }, /unsupported keyword at \/constructor/],
  ["an unknown type", { type: "int" }, /is wrong at \/type/],
  ["a tuple of old", { items: [{}] }, /is wrong at \/items/],
  ["no schema inside", { anyOf: ["a"] }, /at \/anyOf\/0 is not a schema/],
  ["a bad pattern", { pattern: "(" }, /pattern at \/pattern that does not compile: unclosed group/],
  ["a reference to nothing", { $ref: "#/$defs/a" }, /does not lead to a schema in it: #\/\$defs\/a/],
  ["a reference to a list", { $ref: "#/required", required: [] }, /does not lead to a schema/],
  ["a remote reference", { $ref: "https://example.com/a" }, /does not lead to a schema/],
  ["a negative count", { minItems: -1 }, /is wrong at \/minItems/],
  ["too much", { description: "x".repeat(70_000) }, /more than 65536 characters/],
  ["too deep", JSON.parse(`${'{"items":'.repeat(70)}{}${"}".repeat(70)}`), /nested more than 64 deep/],
])("checkSchema refuses %s", (_, schema, message) => {
  expect(() => checkSchema(schema)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(message), guestName: "TypeError" }),
  );
});
