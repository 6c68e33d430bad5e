import { expect, test, vi } from "vitest";
import { decide } from "../../../../src/pi/read-cache/decide.ts";
import { digest, sha256 } from "../../../../src/pi/read-cache/file.ts";
import type { Known } from "../../../../src/pi/read-cache/happened.ts";
import { prove } from "../../../../src/pi/read-cache/proof.ts";
import { patchOf } from "../../../../src/platform/patch.ts";
import { type Asked, piRead } from "../../../support/read-cache/pi-read.ts";

type DecideParts = Parameters<typeof decide>[1];

const lines = Array.from({ length: 61 }, (_, n) => `const value${n + 1} = "${"x".repeat(30)}";`);
const V1 = lines.join("\n");
const V2 = lines.with(9, "const changed = 1;").join("\n");
const [H1, H2] = [sha256(V1), sha256(V2)];

const NONE: Known = { full: null, ranges: new Map(), blocked: [], newest: null, edited: -1 };
const WHOLE: Known = { ...NONE, full: { hash: H1, shownOf: H1, seq: 0, shown: null }, newest: { hash: H1, since: 0 } };

/** How a read is answered if the model has this. */
function answer(known: Known, file: string, asked: Asked = {}, parts: Partial<DecideParts> = {}) {
  const shown = prove(piRead(file, asked), file);
  if (!shown) throw new Error("not proven");
  return decide(
    { shown, file: { text: file, hash: sha256(file) }, known, path: "src/a.ts", isRefreshOffered: true },
    {
      earlier: async (hash) => (hash === H1 ? V1 : null),
      patch: async (before, after) => patchOf(before, after),
      isAborted: () => false,
      ...parts,
    },
  );
}

const SECOND =
  "Your earlier read of it in this conversation is current; readcache_refresh has the next read show it again.";

test("a file that the model does not have is shown", async () => {
  expect(await answer(NONE, V1)).toEqual({ mode: "full", text: null });
});

test("an unchanged file is a line", async () => {
  const text = `[readcache: unchanged, 61 lines]\n${SECOND}`;
  expect(await answer(WHOLE, V1)).toEqual({ mode: "unchanged", baseHash: H1, text });
});

test("an unchanged range is a line, with what Pi says behind it", async () => {
  const notice = "\n\n[57 more lines in file. Use offset=5 to continue.]";
  const text = `[readcache: unchanged in lines 2-4 of 61]\n${SECOND}${notice}`;
  const asked = { offset: 2, limit: 3 };
  expect(await answer(WHOLE, V1, asked)).toEqual({ mode: "unchanged_range", baseHash: H1, text });
});

test("a range of a file that changed elsewhere is a line that says so", async () => {
  const first = "[readcache: unchanged in lines 2-4; changes exist outside this range]";
  const expected = { mode: "unchanged_range", baseHash: H1, text: expect.stringContaining(first) };
  expect(await answer(WHOLE, V2, { offset: 2, limit: 3 })).toEqual(expected);
  const own = { hash: H1, shownOf: H1, seq: 0, shown: digest(lines.slice(1, 4).join("\n")) };
  const range: Known = { ...NONE, ranges: new Map([["r:2:4", own]]), newest: { hash: H1, since: 0 } };
  // Its own digest is enough: the earlier file is not needed.
  expect(await answer(range, V2, { offset: 2, limit: 3 }, { earlier: async () => null })).toEqual(expected);
});

const SHOWN = { mode: "baseline_fallback", baseHash: H1, text: null };

test.for([
  ["changed", V2, { offset: 8, limit: 5 }],
  ["shifted by an insertion before it", `// new\n${V1}`, { offset: 8, limit: 5 }],
  ["longer than the file was", `${V1}\nmore`, { offset: 60, limit: 3 }],
] as const)("a range that is %s is shown", async ([, file, asked]) => {
  expect(await answer(WHOLE, file, asked)).toEqual(SHOWN);
});

test("a changed file is a diff that leads from the one to the other", async () => {
  const made = await answer(WHOLE, V2);
  expect(made).toMatchObject({ mode: "diff", baseHash: H1 });
  const head = ["[readcache: 1 lines changed of 61]", "--- a/src/a.ts", "+++ b/src/a.ts", "@@ -7,7 +7,7 @@"];
  expect(made?.text?.split("\n").slice(0, 4)).toEqual(head);
  expect(made?.text).toContain("\n+const changed = 1;\n");
  expect(made?.text).not.toContain("====");
});

test.for([
  ["the earlier text is lost", V2, { earlier: async () => null }],
  ["the diff does not apply or gives up", V2, { patch: async () => null }],
  ["over 85 % of the lines would be sent", lines.map((line, n) => (n % 4 === 0 ? `${line}!` : line)).join("\n"), {}],
  ["everything is different", lines.map((_, n) => `${n}`.repeat(40)).join("\n"), {}],
] as const)("the file is shown when %s", async ([, file, parts]) => {
  expect(await answer(WHOLE, file, {}, parts)).toEqual(SHOWN);
});

test("a diff with more than 400 edits gives up", () => {
  const many = (mark: string) => Array.from({ length: 1_500 }, (_, n) => `${n}${n % 3 === 0 ? mark : ""}`).join("\n");
  expect(patchOf(many("a"), many("b"))).toBeNull();
  expect(patchOf("same", "same")).toBeNull();
});

test.for(["a\r\nb\r\n", "a\nb", "a\u2028b\n", "@@ -1 +1 @@\n", "\\ No newline at end of file\n", "--- a\n+++ b\n", ""])(
  "a diff to and from %j leads there",
  (text) => {
    for (const [before, after] of [
      [`x\n${text}`, `${text}y\n`],
      [text, `${text}\nend`],
    ] as const) {
      expect(patchOf(before, after)).not.toBeNull();
    }
  },
);

test("an own edit that was undone is shown, and a diff may stand for one that was kept", async () => {
  const edited = { ...WHOLE, edited: 5 };
  expect(await answer(edited, V1)).toEqual(SHOWN);
  expect(await answer(edited, V1, { offset: 2, limit: 3 })).toEqual(SHOWN);
  expect(await answer(edited, V2)).toMatchObject({ mode: "diff" });
  expect(await answer({ ...WHOLE, edited: -1 }, V1)).toMatchObject({ mode: "unchanged" });
});

test("a file of which a newer state was seen is shown", async () => {
  for (const newest of [{ hash: H2, since: 1 }, { hash: H1, since: 2 }, null]) {
    expect(await answer({ ...WHOLE, newest }, V1)).toEqual(SHOWN);
    expect(await answer({ ...WHOLE, newest }, V2)).toEqual(SHOWN);
  }
});

test("an aborted read makes no diff", async () => {
  const patch = vi.fn(async () => null);
  expect(await answer(WHOLE, V2, {}, { isAborted: () => true, patch })).toBeNull();
  expect(patch).not.toHaveBeenCalled();
});

test("a path cannot write lines of a diff, and without the tool the marker does not name it", async () => {
  const shown = prove(piRead(V2, {}), V2);
  if (!shown) throw new Error("not proven");
  const file = { text: V2, hash: H2 };
  const question = { shown, file, known: WHOLE, path: "a\n@@ -1 +1 @@", isRefreshOffered: false };
  const parts = { earlier: async () => V1, patch: async () => patchOf(V1, V2), isAborted: () => false };
  expect((await decide(question, parts))?.text).toContain("--- a/a_@@ -1 +1 @@\n");
  const known = { ...WHOLE, full: { hash: H2, shownOf: H2, seq: 0, shown: null }, newest: { hash: H2, since: 0 } };
  expect((await decide({ ...question, known }, parts))?.text).toMatch(/is current\.$/);
});
