import { expect, test } from "vitest";
import { begin } from "../../../src/ask/begin.ts";
import type { Model, Models } from "../../../src/model/index.ts";

/** Models of which each has this window. */
function modelsOf(window: number | null): Models {
  const resolve = (name: string | null): Model => {
    const complete = () => Promise.reject(new Error("nothing is sent"));
    return { id: name ?? "local/root", price: null, window, complete };
  };
  return { fallback: "local/sub", resolve, price: () => null };
}

test.each([
  [null, 400_000],
  [1_000_000, 400_000],
  [32_768, 65_536],
])("of a model with a window of %j tokens the conversation takes %i characters", (window, history_chars) => {
  expect(begin("Which?", {}, { models: modelsOf(window) })).toMatchObject({ settings: { history_chars } });
});
