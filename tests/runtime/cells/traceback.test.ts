import { expect, test } from "vitest";
import { guestError, type Thrown } from "../../../runtime/cells/traceback.ts";

const asWritten = (_file: string, _line: number, column: number) => column;
const thrown = (fields: Partial<Thrown>): Thrown => ({
  ...{ thrown: "error", name: "Error", message: "m", stack: "", classes: [] },
  ...fields,
});

test("only frames of cells, helpers and queries are shown, each with its mapped column", () => {
  const stack = [
    "    at inner (<cell 12>:3:7)",
    "    at <helper my-utils>:1:20",
    "    at native",
    "    at enter (<prelude>:10:2)",
    "    at file:///home/user/node_modules/engine.js:1:1",
    "    at <eval> (<cell 12>:9:1)",
    "    at <query>:2:2",
  ].join("\n");
  const seen: string[] = [];
  const error = guestError(thrown({ stack }), (file, line, column) => {
    seen.push(`${file}:${line}`);
    return column + 100;
  });
  expect(error).toMatchObject({ line: 3, column: 107, name: "Error", message: "m" });
  expect(error.traceback).toBe(
    "Error: m\n    at inner (<cell 12>:3:107)\n    at <helper my-utils>:1:120\n    at <cell 12>:9:101\n    at <query>:2:102",
  );
  expect(seen).toEqual(["<cell 12>:3", "<helper my-utils>:1", "<cell 12>:9", "<query>:2"]);
});

test("an error without frames has no line and no column", () => {
  const bare = { name: "Error", message: "m", line: null, column: null, traceback: "Error: m" };
  expect(guestError(thrown({}), asWritten)).toEqual(bare);
});

test("long tracebacks are cut with a count", () => {
  const stack = Array.from({ length: 30 }, (_, i) => `    at f (<cell 1>:${i + 1}:1)`).join("\n");
  const lines = guestError(thrown({ stack }), asWritten).traceback.split("\n");
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)).toBe("    … 10 more");
});

test("a thrown value that is not an error is named as such", () => {
  expect(guestError(thrown({ thrown: "value", name: "", message: "text" }), asWritten).traceback).toBe(
    "Uncaught: text",
  );
  expect(guestError(thrown({ thrown: "nothing", name: "", message: "null" }), asWritten).name).toBe("Uncaught");
  expect(guestError(thrown({ name: "", message: "" }), asWritten).traceback).toBe("Error");
});

test("a message with frame-like lines adds no frames", () => {
  const error = guestError(thrown({ message: "x\n    at <cell 9>:9:9", stack: "    at <cell 1>:1:1" }), asWritten);
  expect(error).toMatchObject({ line: 1, column: 1 });
});

test("constructors of the thrown error's own classes are left out in front, and only there", () => {
  const stack = ["    at Quota (<cell 1>:3:1)", "    at f (<cell 1>:5:9)", "    at Quota (<cell 1>:8:2)"].join("\n");
  const error = guestError(thrown({ stack, classes: ["Quota", "Error"] }), asWritten);
  expect(error.traceback).toBe("Error: m\n    at f (<cell 1>:5:9)\n    at Quota (<cell 1>:8:2)");
  expect(error).toMatchObject({ line: 5, column: 9 });
});
