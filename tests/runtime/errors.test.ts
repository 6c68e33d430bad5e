import { expect, test } from "vitest";
import { RlmError } from "../../runtime/index.ts";

test("the JSON of an error has its code, its message and its suggestion", () => {
  const error = new RlmError("store_failed", "the disk is full", { suggestion: "Make room.", retriable: true });
  const expected = { code: "store_failed", message: "the disk is full", suggestion: "Make room." };
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: expected });
});
