import { expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { nativeSchema } from "../../../../src/models/schema/native.ts";

const STRICT = { requiresAll: true, isClosed: true, takesPlain: false };
const object = (properties: Json, more: { [keyword: string]: Json } = {}): Json => ({
  type: "object",
  properties,
  ...more,
});
const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, NUMBER]));
const NUMBER = { type: "number" };
const deep = (levels: number): Json => (levels === 0 ? NUMBER : object({ a: deep(levels - 1) }, { required: ["a"] }));

test("a property that may be absent may be null, and what no provider knows is left to the check", () => {
  const schema = object(
    {
      name: { type: "string", minLength: 2, pattern: "^[A-Z]", description: "Whose." },
      nick: { type: ["string", "null"] },
      kind: { const: "cat" },
      tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 3 },
      size: { anyOf: [{ type: "integer", minimum: 1 }, { type: "string" }] },
    },
    { required: ["name", "tags"], title: "Animal" },
  );
  const size = { anyOf: [{ type: "integer" }, { type: "string" }] };
  const tags = { type: "array", items: { type: "string", enum: ["a", "b"] } };
  const kind = { type: "string", enum: ["cat"] };
  const nick = { type: ["string", "null"] };
  const name = { description: "Whose.", type: "string" };
  const nullable = (one: Json) => ({ anyOf: [one, { type: "null" }] });
  expect(nativeSchema(schema, STRICT)).toEqual({
    type: "object",
    properties: { name, nick, kind: nullable(kind), tags, size: nullable(size) },
    required: ["name", "nick", "kind", "tags", "size"],
    additionalProperties: false,
  });
  expect(nativeSchema(schema, { requiresAll: false, isClosed: false, takesPlain: false })).toEqual({
    type: "object",
    properties: { name, nick, kind, tags, size },
    required: ["name", "tags"],
  });
});

test.each<[string, Json]>([
  ["a list", { type: "array", items: NUMBER }],
  ["a list of values", { enum: ["a"] }],
  ["any object", { type: "object" }],
  ["more properties of any name", object({ a: NUMBER }, { additionalProperties: NUMBER })],
  ["a property that is required and not listed", object({ a: NUMBER }, { required: ["b"] })],
  ["a reference", object({ a: { $ref: "#/$defs/b" } }, { $defs: { b: NUMBER } })],
  ["exclusive alternatives", object({ a: { oneOf: [NUMBER, { type: "string" }] } })],
  ["joined schemas", { ...(object({ a: NUMBER }) as object), allOf: [{}] }],
  ["a tuple", object({ a: { type: "array", prefixItems: [NUMBER] } })],
  ["a list of anything", object({ a: { type: "array" } })],
  ["a list or a figure", object({ a: { type: ["array", "number"] } })],
  ["anything", object({ a: true })],
  ["anything by an empty schema", object({ a: {} })],
  ["more than 5 levels", deep(6)],
  ["more than 24 properties that may be absent", object(names(25))],
  ["a long schema", object({ a: { type: "string", description: "x".repeat(17_000) } })],
])("a schema has no native form: %s", (_, schema) => {
  expect(nativeSchema(schema, STRICT)).toBeNull();
});

test("a schema at the limits has one, and a plain value alone where a server takes it", () => {
  expect(nativeSchema(deep(5), STRICT)).not.toBeNull();
  expect(nativeSchema(object(names(24)), STRICT)).not.toBeNull();
  expect(nativeSchema(object(names(100), { required: Object.keys(names(100)) }), STRICT)).not.toBeNull();
  const takesPlain = { ...STRICT, takesPlain: true };
  expect(nativeSchema({ enum: ["a", "b"] }, takesPlain)).toEqual({ type: "string", enum: ["a", "b"] });
  expect(nativeSchema({ type: "integer", enum: [1, 2] }, takesPlain)).toEqual({ type: "integer", enum: [1, 2] });
  expect(nativeSchema({ type: "boolean" }, takesPlain)).toEqual({ type: "boolean" });
  expect(nativeSchema({ type: "array", items: NUMBER }, takesPlain)).toBeNull();
});
