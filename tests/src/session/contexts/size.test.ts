import { expect, test } from "vitest";
import { openSession } from "../../../../src/index.ts";
import { contextParts, mostOf, openSessionWith } from "../../../../src/session/index.ts";
import { textFile } from "../../../support/converted.ts";
import { largeContext } from "../../../support/large-context.ts";
import { empty, folderWith } from "../../../support/tree.ts";

test("without options a context has at most 100 MB and 10,000 documents", () => {
  expect(mostOf({})).toEqual({ files: 10_000, bytes: 100 * 2 ** 20 });
  expect(mostOf({ maxContextMb: 2000, maxFiles: 5 })).toEqual({ files: 5, bytes: 2000 * 2 ** 20 });
});

test("loads and appends of a session obey its limits, and name the option that would do", async () => {
  const cwd = folderWith(empty("a.txt", "b.txt", "c.txt"));
  await using session = await openSession({ cwd, maxContextMb: 1, maxFiles: 2 });
  await expect(session.load(".")).rejects.toMatchObject({
    code: "context_too_large",
    message: ". makes the context too large: 3 files (limit 2)",
    suggestion: expect.stringMatching(/^Allow so many with `maxFiles: 1000`/),
  });
  await session.load("a.txt");
  const text = { name: "t", text: "x".repeat(2 ** 20 + 1) };
  await expect(session.loadAppend(text)).rejects.toMatchObject({
    message: expect.stringMatching(/^t makes the context too large: .* > .*/),
    suggestion: expect.stringMatching(/^Allow it with `maxContextMb: 100`/),
  });
  expect(session.stats()?.document_count).toBe(1);
});

test("a session that goes with the process explores a large context of another store, and keeps none of it", async () => {
  const context = await largeContext([[textFile("a.txt", "alpha\n"), textFile("b.txt", "beta\n")]]);
  await using session = await openSessionWith({}, contextParts(context));
  const answer = await session.exec("[P.length, P.indexOf('beta'), peek_doc('b.txt'), typeof P]");
  const { length } = context.text;
  expect(answer).toMatchObject({ success: true, result_json: [length, length - 5, "beta\n", "object"] });
});
