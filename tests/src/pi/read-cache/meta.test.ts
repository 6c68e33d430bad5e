import fc from "fast-check";
import { expect, test } from "vitest";
import { digest, sha256 } from "../../../../src/pi/read-cache/file.ts";
import { hasMeta, metaIn, refreshIn } from "../../../../src/pi/read-cache/meta.ts";

const META = {
  ...{ v: 1, pathKey: "/p/a", scopeKey: "r:2:4", servedHash: sha256("file"), mode: "full", totalLines: 9 },
  ...{ rangeStart: 2, rangeEnd: 4, bytes: 80, text: digest("text"), shown: digest("lines") },
};

test("what was written is read", () => {
  expect(metaIn({ truncation: {}, readcache: META })).toEqual(META);
  const derived = { ...META, mode: "unchanged_range", baseHash: sha256("before") };
  expect(metaIn({ readcache: derived })).toEqual(derived);
});

test.for([
  ["a version that is not known", { v: 2 }],
  ["a path that is empty", { pathKey: "" }],
  ["a hash that is none", { servedHash: "abc" }],
  ["a mode that is none", { mode: "bypass" }],
  ["a marker without its base", { mode: "unchanged_range" }],
  ["a diff with an empty base", { mode: "diff", baseHash: "" }],
  ["a scope of other lines", { scopeKey: "r:2:5" }],
  ["a range that is called full", { scopeKey: "full" }],
  ["lines behind the end", { rangeEnd: 10, scopeKey: "r:2:10" }],
  ["lines that end before they begin", { rangeStart: 4, rangeEnd: 2, scopeKey: "r:4:2" }],
  ["no digest of the text, as another cache writes it", { text: undefined }],
  ["no digest of the lines", { shown: undefined }],
  ["half a byte", { bytes: 1.5 }],
] as const)("%s is not trusted", ([, change]) => {
  expect(metaIn({ readcache: { ...META, ...change } })).toBeNull();
});

test("no JSON makes it throw", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (details, readcache) => {
      expect(metaIn(details)).toBeNull();
      expect(metaIn({ readcache })).toBeNull();
      expect(refreshIn(readcache)).toBeNull();
      expect(hasMeta({ readcache })).toBe(true);
    }),
  );
});

test("a refresh is read as both caches write it", () => {
  const entry = { v: 1, kind: "invalidate", pathKey: "/p/a", scopeKey: "full", at: 5 };
  expect(refreshIn(entry)).toMatchObject({ pathKey: "/p/a", scopeKey: "full" });
  expect(refreshIn({ ...entry, kind: "other" })).toBeNull();
});
