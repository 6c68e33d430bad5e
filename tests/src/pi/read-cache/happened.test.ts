import { expect, test } from "vitest";
import { digest, sha256 } from "../../../../src/pi/read-cache/file.ts";
import { candidateOf, type Happened, isOfOneState, knownOf } from "../../../../src/pi/read-cache/happened.ts";
import { FULL, type Meta } from "../../../../src/pi/read-cache/meta.ts";

const TOTAL = 40;
const hash = (version: string) => sha256(version);

/** A read of a scope (`full`, or `2-5`) at a version of the file. */
function read(mode: Meta["mode"], scope: string, version: string, base: string | null = null): Happened {
  const [start = 1, end = TOTAL] = scope === FULL ? [] : scope.split("-").map(Number);
  const facts = {
    ...{ v: 1 as const, pathKey: "/p/a", scopeKey: scope === FULL ? FULL : `r:${start}:${end}` },
    ...{ servedHash: hash(version), totalLines: TOTAL, rangeStart: start, rangeEnd: end, bytes: 100 },
    ...{ text: digest(mode + version), shown: digest(version) },
  };
  const meta: Meta = mode === "full" ? { ...facts, mode } : { ...facts, mode, baseHash: hash(base ?? version) };
  return { is: "read", meta };
}

/** What a read of these lines can rest on now: the version's hash, or null. */
function rests(happened: readonly Happened[], scope: string): string | null {
  const known = knownOf(happened);
  const [start = 1, end = TOTAL] = scope === FULL ? [] : scope.split("-").map(Number);
  const candidate = candidateOf(known, { start, end, total: TOTAL });
  return candidate && isOfOneState(known, candidate) ? candidate.hash : null;
}

const seen = read("full", FULL, "v1");

test.for<readonly [string, readonly Happened[], string, string | null]>([
  ["a whole file is known", [seen], FULL, "v1"],
  ["a range of a whole file is known", [seen], "2-5", "v1"],
  ["a range does not make the file known", [read("full", "2-5", "v1")], FULL, null],
  ["a range does not make another one known", [read("full", "2-5", "v1")], "3-4", null],
  ["a diff leads on", [seen, read("diff", FULL, "v2", "v1")], FULL, "v2"],
  ["a diff from something else does not, and nothing can be told", [seen, read("diff", FULL, "v3", "v2")], FULL, null],
  ["a marker alone makes nothing known", [read("unchanged", FULL, "v1")], FULL, null],
  ["a diff alone makes nothing known", [read("diff", FULL, "v2", "v1")], FULL, null],
  ["a range's marker alone makes nothing known", [read("unchanged_range", "2-5", "v1")], "2-5", null],
  ["a range's marker rests on the file", [seen, read("unchanged_range", "2-5", "v2", "v1")], "2-5", "v2"],
  ["and shows nothing of its state", [seen, read("unchanged_range", "2-5", "v2", "v1")], FULL, "v1"],
  ["a marker of another hash counts for nothing", [seen, read("unchanged", FULL, "v2", "v1")], FULL, "v1"],
  ["a marker of a range for the whole file counts for nothing", [seen, read("unchanged", "2-5", "v1")], "2-5", "v1"],
  ["an old range does not go before a newer file", [read("full", "2-5", "v1"), read("full", FULL, "v2")], "2-5", "v2"],
  ["an old file does not go before a fresher range", [seen, read("baseline_fallback", "2-5", "v2")], "2-5", "v2"],
  ["a newer state of other lines ends trust", [seen, read("baseline_fallback", "2-5", "v2")], FULL, null],
  ["a text that nobody can tell ends trust", [seen, { is: "unproven" }], FULL, null],
  ["an edit that failed ends trust", [seen, { is: "edit failed" }], FULL, null],
  ["a refresh of the file ends trust in it", [seen, { is: "refreshed", scope: FULL }], FULL, null],
  ["and in its ranges", [read("full", "2-5", "v1"), { is: "refreshed", scope: FULL }], "2-5", null],
  ["a refresh of a range ends it", [read("full", "2-5", "v1"), { is: "refreshed", scope: "r:2:5" }], "2-5", null],
  ["the file does not stand in for it", [seen, { is: "refreshed", scope: "r:2:5" }], "2-5", null],
  ["nor for a part of it", [seen, { is: "refreshed", scope: "r:2:90" }], "2-40", null],
  ["other lines are not touched", [seen, { is: "refreshed", scope: "r:2:5" }], "8-9", "v1"],
  ["the file itself is not", [seen, { is: "refreshed", scope: "r:2:5" }], FULL, "v1"],
  ["shown, the range is known", [seen, { is: "refreshed", scope: "r:2:5" }, read("full", "2-5", "v1")], "2-5", "v1"],
  [
    "once the file is shown, its ranges are",
    [seen, { is: "refreshed", scope: "r:2:5" }, read("baseline_fallback", FULL, "v1")],
    "2-5",
    "v1",
  ],
  [
    "a marker of a range that is to be shown counts for nothing",
    [seen, { is: "refreshed", scope: "r:2:5" }, read("unchanged_range", "2-5", "v1")],
    "2-5",
    null,
  ],
  ["a scope that is none is passed over", [seen, { is: "refreshed", scope: "r:5:2" }], FULL, "v1"],
])("%s", ([, happened, scope, version]) => {
  expect(rests(happened, scope)).toBe(version === null ? null : hash(version));
});

test("a marker does not renew a text that is older than the model's edit: the one that it stood for is not sent any more", () => {
  const edited: readonly Happened[] = [seen, { is: "edited" }];
  for (const marker of [read("unchanged", FULL, "v1"), read("unchanged_range", "2-5", "v1")]) {
    const { full, ranges, edited: at } = knownOf([...edited, marker]);
    expect([full?.seq, ranges.size, at]).toEqual([0, 0, 1]);
  }
});

test("an edit is remembered by when it was made", () => {
  expect(knownOf([seen, { is: "edited" }]).edited).toBe(1);
  expect(knownOf([seen]).edited).toBe(-1);
});
