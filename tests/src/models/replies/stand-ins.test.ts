import { expect, test } from "vitest";
import { standInOf } from "../../../../src/models/replies/stand-ins.ts";

test.each(["XX", "TBD", "...", "<name>", "[name]", "{{name}}", "your answer here", "YYYY-MM-DD", "string"])(
  "%s stands for something, unless the model was shown it",
  (name) => {
    expect(standInOf({ rows: [{ name }] }, ["Who?"])).toBe(name);
    expect(standInOf({ rows: [{ name }] }, [`It says "${name}" and string ${name} here.`])).toBeNull();
  },
);

test.each(["Bob", "N/A", "unknown", "XY", "<b>Bob</b>", "[1, 2]", "wait...", ""])("%s is meant", (name) => {
  expect(standInOf({ name, n: 1 }, ["Who?"])).toBeNull();
});
