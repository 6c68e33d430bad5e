import { join } from "node:path";
import { expect, test } from "vitest";
import { describeSession } from "../../../../src/history/index.ts";
import { recordedAnswer } from "../../../../src/session/keyed-calls.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { forkSession } from "../../../../src/session/stored/sessions.ts";
import { openScripted, using } from "../../../support/scripted-session.ts";
import { folderWith } from "../../../support/tree.ts";

const TREE = {
  "docs/lease.txt": "The rent is 100.\n",
  "docs/addendum.pdf": "%PDF-1.4 cut off",
  "docs/logo.png": "\x89PNG\0",
};
const SKIPS = "stats().skipped";
const told = { count: 2, unread: 1, files: [{ path: "addendum.pdf" }, { path: "logo.png" }], capped: false };

test("files that were not read belong to a context in cells, asks and queries, also later and in a fork", async () => {
  const at = folderWith(TREE);
  const answer = using("rlm_exec", { code: "answer(peek(0, 8))" });
  const { session, store, seen } = await openScripted(({ tools }) => (tools.length > 0 ? answer : "yes"), {
    roots: [at],
    session: "skips",
  });
  await session.load(join(at, "docs"));
  expect(await session.exec(SKIPS)).toMatchObject({ result_json: told });

  const asked = await session.ask("Is there an addendum?");
  expect(seen.prompts[0]).toMatch(
    /\n\n1 file could not be read: addendum\.pdf \(.+\)\. P lacks them: say so if the answer may stand in one of them\./,
  );
  expect(asked).toMatchObject({ success: true, skipped: told });
  expect((await recordedAnswer(store, session, null))?.ask).toMatchObject({ skipped: told });
  expect(await session.query("Is there an addendum?")).toMatchObject({ success: true, skipped: told });
  expect((await recordedAnswer(store, session, null))?.answer).toMatchObject({ skipped: told });

  // What is appended does not take them away, and the same folder does not count them twice.
  await session.loadAppend({ text: "more", name: "more" });
  await session.loadAppend(join(at, "docs"));
  expect(await session.exec(SKIPS)).toMatchObject({ result_json: told });
  expect(await describeSession(store, "skips")).toMatchObject({ skipped: told });

  const forking = { id: "01SKIPSFORK", name: "skips fork", origin: "library", checkpoint: null, at: 1 } as const;
  await forkSession(store, "skips", { ...forking, settings: () => null });
  await session.close();
  for (const name of ["skips", "skips fork"]) {
    await using again = await openSessionWith({ roots: [at], session: name }, { store });
    expect(await again.exec(SKIPS)).toMatchObject({ result_json: told });
    await again.load({ text: "another", name: "another" });
    expect(await again.exec(SKIPS)).toMatchObject({ result_json: { count: 0, unread: 0, files: [], capped: false } });
  }
});
