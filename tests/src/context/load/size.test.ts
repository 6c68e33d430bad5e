import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { load } from "../../../../src/context/load/load.ts";
import { mostOf, tooLarge } from "../../../../src/context/load/size.ts";
import { folderWith } from "../../../support/tree.ts";

const MB = 2 ** 20;

test("what is too large names the limit that would do, or what to do if none would", () => {
  const most = mostOf({ texts: async () => "/texts", most: { files: 10_000, bytes: 100 * MB } });
  const cure = (files: number, mb: number, of = most) => tooLarge("x", { files, bytes: mb * MB }, of).suggestion;
  expect(cure(1, 1025)).toMatch(/^Allow it with `maxContextMb: 1200`: its text then takes 1,025\.0 MB of disk\. Or: /);
  expect(cure(20_000, 101)).toMatch(/^Allow it with `maxContextMb: 200` and allow so many with `maxFiles: 22000`: /);
  expect(cure(1, 16_384)).toMatch(/^Allow it with `maxContextMb: 16384`: /);
  expect(cure(1, 40_000)).toBe(
    "A context has at most 16,384 MB; `belay find` searches files of any size. " +
      "Load a smaller file, or a part of this one.",
  );
  expect(cure(999_999, 1)).toMatch(/^Allow so many with `maxFiles: 1000000`: /);
  expect(cure(1_000_001, 1)).toBe(
    "A context has at most 1,000,000 files. " +
      "Join its files into fewer ones (`cat FOLDER/* > all.txt`) and load those, or list some in .gitignore.",
  );
  // Without a folder for texts no setting helps; a project's own limit can be raised.
  const fixed = mostOf({ most: { files: 50_000, bytes: 500 * MB } });
  expect(fixed).toMatchObject({ files: 10_000, bytes: 100 * MB });
  expect(cure(1, 101, fixed)).toMatch(
    /^Only a store in a folder keeps larger ones: name one as `store`, and allow it with `maxContextMb: 200`\. Or: Load a/,
  );
  expect(cure(1, 60, mostOf({ most: { files: 10, bytes: 50 * MB } }))).toMatch(/^Allow it with `maxContextMb: 100`/);
});

test("of files over 10 MB in a folder the largest are left out first, until the others have room", async () => {
  const folder = folderWith({ "a.txt": "first\n" });
  for (const mb of [11, 13, 12]) writeFileSync(join(folder, `${mb}.log`), "line\n".repeat((mb * MB) / 5));
  const loaded = async (mb: number, kind: "path" | "paths" = "path") => {
    const most = { files: 10_000, bytes: mb * MB };
    const source = kind === "path" ? { kind, path: "." } : { kind, paths: ["*.log", "a.txt"], folder };
    const { documents, stats } = await load(source, { roots: [folder], cwd: folder, most });
    return { ids: documents.map(({ id }) => id).sort(), skipped: stats.skipped };
  };
  expect(await loaded(40)).toMatchObject({ ids: ["11.log", "12.log", "13.log", "a.txt"], skipped: { count: 0 } });
  const reason = (size: string, mb: number) =>
    `has ${size} MB: the context would have more than ${mb} MB, and the largest files are left out first`;
  const thirty = await loaded(30);
  expect(thirty).toMatchObject({
    ids: ["11.log", "12.log", "a.txt"],
    skipped: {
      count: 1,
      unread: 1,
      files: [{ path: "13.log", reason: reason("13.0", 30) }],
      reasons: { "without room in the context": 1 },
    },
  });
  expect(await loaded(30, "paths")).toEqual(thirty);
  expect(await loaded(10)).toMatchObject({ ids: ["a.txt"], skipped: { count: 3 } });
  // Nothing is left out for nothing: then the whole of it is too large.
  writeFileSync(join(folder, ".gitignore"), "a.txt\n11.log\n12.log\n.gitignore\n");
  await expect(loaded(10)).rejects.toMatchObject({
    code: "context_too_large",
    message: ". makes the context too large: 13.0 MB > 10 MB",
    suggestion: expect.stringContaining("Allow it with `maxContextMb: 100`"),
  });
  const named = load({ kind: "path", path: "13.log" }, { roots: [folder], cwd: folder, most: { files: 1, bytes: MB } });
  await expect(named).rejects.toMatchObject({ code: "context_too_large" });
});
