import { expect, test } from "vitest";
import { textFile } from "../../../support/converted.ts";
import { largeContext } from "../../../support/large-context.ts";

test("a context in files has its documents, and the text of each load", async () => {
  const { text, documents, stats } = await largeContext([
    [textFile("a.txt", "größe 😀\n"), textFile("b.txt", "two")],
    [textFile("c.txt", "three\n")],
  ]);
  expect(Array.from(documents, ({ id }) => id)).toEqual(["a.txt", "b.txt", "c.txt"]);
  expect(Array.from(documents, ({ start, end }) => text.slice(start, end))).toEqual(["größe 😀\n", "two", "three\n"]);
  expect(text.data).toMatchObject({ files: [{}, {}], length: stats.length_chars });
});
