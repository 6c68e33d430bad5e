import { expect, test } from "vitest";
import {
  allSkipped,
  isUnread,
  NOTHING_SKIPPED,
  type SkippedFile,
  skippedStats,
  toldSkips,
  unreadSentence,
  withSkipsOf,
} from "../../../src/context/skipped.ts";

test.each([
  "has text on none of its 2 pages",
  "has no text",
  "is encrypted: it needs a password",
  "is damaged: its data cannot be unpacked",
  "is an Office file of before 2007",
  "an archive in an archive",
  "14.2 MB > 10 MB",
  "10,485,861 bytes > 10,485,760 bytes",
  "is larger than 256 MB",
  "took longer than 60 s to read",
  "took more than 60 s of processor time to read",
  "was not read: the load had taken 30 min; load again to continue from here",
  "cannot be read (EACCES)",
  "cannot be read: its reader ended (SIGKILL)",
  "symlink that cannot be followed (EACCES)",
  "not UTF-8",
  "more than 128 folders deep",
  "vanished while loading",
  "a reason of tomorrow",
])("a file should have text and could not be read: %s", (reason) => {
  expect(isUnread(reason)).toBe(true);
});

test.each([
  "binary (NUL in the first 8 KB)",
  "binary",
  "may contain secrets",
  "FIFO",
  "symlink that leads nowhere",
  "symlink to a folder that is already loaded",
  "leads to a folder that is already loaded",
  "outside the allowed roots",
  "Belay keeps its own files there",
  "its rules are not applied: larger than 512 KB",
  "rules not applied",
])("a file is left out by what it is: %s", (reason) => {
  expect(isUnread(reason)).toBe(false);
});

const encrypted = (path: string): SkippedFile => ({ path, reason: "is encrypted: it needs a password" });
const binary = (path: string): SkippedFile => ({ path, reason: "binary (NUL in the first 8 KB)" });

test("files that could not be read stand before the others, and a list never hides them behind icons", () => {
  const stats = skippedStats([...Array.from({ length: 1500 }, (_, at) => binary(`${at}.png`)), encrypted("lease.pdf")]);
  expect(stats).toMatchObject({ count: 1501, unread: 1, reasons: { binary: 1500, "damaged or encrypted": 1 } });
  expect(stats.files).toHaveLength(1000);
  expect(stats.files[0]).toEqual(encrypted("lease.pdf"));
  expect(toldSkips(stats, 2)).toEqual({ count: 1501, unread: 1, files: stats.files.slice(0, 2), capped: true });
  expect(toldSkips(skippedStats([binary("a.png")]), 1)).toMatchObject({ count: 1, unread: 0, capped: false });
});

test("statistics and the sentence are bounded, whatever a folder holds, and a name cannot steer a terminal", () => {
  const stats = skippedStats(Array.from({ length: 50_000 }, (_, at) => encrypted(`${at}${"x".repeat(4000)}`)));
  expect(stats).toMatchObject({ count: 50_000, unread: 50_000 });
  expect(JSON.stringify(stats).length).toBeLessThan(250_000);
  expect(unreadSentence(stats)?.length).toBeLessThan(1500);
  expect(unreadSentence(stats, "how")).toMatch(/^50,000 files could not be read: .*, … 49,995 more \(how\)\.$/);
  const hostile = unreadSentence(skippedStats([encrypted("a\u001b[2J\u202e\nP.pdf")]));
  expect(hostile).toBe("1 file could not be read: a\\x1b[2J\\u202e\\nP.pdf (is encrypted: it needs a password).");
  expect(unreadSentence(skippedStats([binary("a.png")]))).toBeNull();
  expect(unreadSentence(NOTHING_SKIPPED)).toBeNull();
  expect(unreadSentence({ unread: 2, files: [] }, "how")).toBe("2 files could not be read (how).");
});

test("a source that is read again tells anew, and a file that can be read now is not missing any more", () => {
  const at = (source: string, ...files: SkippedFile[]) => ({ source, base: source, stats: skippedStats(files) });
  const first = withSkipsOf([], at("/docs", encrypted("a.pdf"), encrypted("b.pdf"), binary("c.png")), () => false);
  const other = withSkipsOf(first, at("/other", encrypted("a.pdf")), () => false);
  expect(allSkipped(other)).toMatchObject({ count: 4, unread: 3 });
  // Equal names of two folders are two files.
  expect(allSkipped(other).files.map(({ path }) => path)).toEqual(["a.pdf", "b.pdf", "other/a.pdf", "c.png"]);
  expect(allSkipped(withSkipsOf(other, at("/docs", encrypted("b.pdf")), (path) => path === "/docs/a.pdf"))).toEqual({
    count: 2,
    unread: 2,
    files: [encrypted("a.pdf"), encrypted("b.pdf")],
    reasons: { "damaged or encrypted": 2 },
  });
  const within = withSkipsOf(first, at("/docs/../docs"), (path) => path === "/docs/a.pdf");
  expect(allSkipped(within)).toMatchObject({ count: 2, unread: 1, reasons: { "damaged or encrypted": 1, binary: 1 } });
});
