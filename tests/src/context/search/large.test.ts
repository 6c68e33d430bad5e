import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SearchSource } from "../../../../src/context/search/build.ts";
import { openSearchIndex } from "../../../../src/context/search/search.ts";
import { INDEX_FORMAT } from "../../../../src/context/search/tokens.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { largeText } from "../../../support/large-context.ts";
import { canMount, fillBut, smallDisk } from "../../../support/small-disk.ts";
import { folderWith } from "../../../support/tree.ts";

const HASH = "0123456789abcdef".repeat(4);
const INDEX = `${HASH}-v${INDEX_FORMAT}.index`;

function line(n: number): string {
  const id = ((n * 2654435761) % 2 ** 32).toString(16).padStart(8, "0");
  return `2026-03-01T10:00:0${n % 10}Z ${n % 7 === 0 ? "ERROR" : "INFO"} [req-${id}] größe ${n} of a chunk 検索\n`;
}

const lines = (count: number) => Array.from({ length: count }, (_, n) => line(n)).join("");

/** A text in files as the source of an index. */
function largeSource(text: string, folder?: string): SearchSource {
  const opened = largeText({ parts: [text.slice(0, 100_001), text.slice(100_001)], ...(folder ? { folder } : {}) });
  return { text: opened, documents: [{ start: 0, end: opened.length }], hash: HASH };
}

const indexed = (source: SearchSource, dir = folderWith()) => {
  openSearchIndex(source, { dir })[Symbol.dispose]();
  return dir;
};

describe("the index of a text in files", () => {
  test("gives the answers that the same text gives in memory", () => {
    const P = lines(3000);
    const documents = [
      { start: 0, end: P.indexOf("\n", 90_000) + 1 },
      { start: P.indexOf("\n", 91_000) + 1, end: P.length },
    ];
    const small: SearchSource = { text: textFromString(P), documents, hash: HASH };
    const large: SearchSource = { ...largeSource(P), documents };
    using one = openSearchIndex(small, { dir: folderWith() });
    using other = openSearchIndex(large, { dir: folderWith() });
    for (const query of ["error größe 42", "検索", "req-9e3779b1", "chunks", "nowhere", line(2999)]) {
      expect(other.search(query, 10)).toEqual(one.search(query, 10));
    }
    expect(other.search("9e3779b1", 5)[0]?.text).toContain("[req-9e3779b1]");
  });

  test("may be as large as the text, whatever the limit for others is", () => {
    const text = lines(2000);
    const dir = folderWith();
    using index = openSearchIndex(largeSource(text), { dir, maxBytes: 1000 });
    expect(index.search("größe", 1)).toHaveLength(1);
    expect(statSync(join(dir, INDEX)).size).toBeGreaterThan(1000);
  });

  test("is refused if it would take more than its session has left, and leaves nothing but that", () => {
    const dir = folderWith();
    expect(() => openSearchIndex(largeSource(lines(2000)), { dir, room: 10_000 })).toThrow(
      expect.objectContaining({
        code: "search_too_large",
        message: expect.stringMatching(/would have more than the 0\.0 MB that the session's large contexts have left/),
        suggestion: "Use find, which needs no index, or load P in a session of its own.",
      }),
    );
    expect(readdirSync(dir)).toEqual([`${INDEX}.refused`]);
    openSearchIndex(largeSource(lines(2000)), { dir, room: 1_000_000 })[Symbol.dispose]();
  });
});

test("an index that is damaged while it is open is removed, and the next search has a new one", () => {
  const source = largeSource(lines(6000));
  const dir = folderWith();
  const path = join(dir, INDEX);
  {
    using index = openSearchIndex(source, { dir });
    const bytes = readFileSync(path);
    expect(bytes.length).toBeGreaterThan(3 * 65_536);
    for (let page = 0; page < 3; page++) bytes.writeUInt8(bytes.readUInt8(page * 65_536 + 9) ^ 1, page * 65_536 + 9);
    writeFileSync(path, bytes);
    expect(() => index.search("größe", 1)).toThrow(expect.objectContaining({ code: "search_unavailable" }));
    expect(readdirSync(dir)).toEqual([]);
  }
  using again = openSearchIndex(source, { dir });
  expect(again.search("größe", 1)).toHaveLength(1);
});

/** Text of 5 MB, which are three parts. Few of the lines differ, which makes it cheap. */
const THREE_PARTS = lines(2000).repeat(40);

/**
 * Builds an index in a process that ends itself by SIGKILL.
 *
 * @param when an expression of the names in the folder of the index
 */
function killedBuild(source: SearchSource, dir: string, when: string): NodeJS.Signals | null {
  const at = (path: string) => JSON.stringify(new URL(`../../../../src/context/${path}`, import.meta.url).href);
  const code = `
    import { readdirSync } from "node:fs";
    import { openSearchIndex } from ${at("search/search.ts")};
    import { openText } from ${at("text/text.ts")};
    const { data, documents, hash, dir } = ${JSON.stringify({ ...source, data: source.text.data, text: undefined, dir })};
    function between() {
      const names = readdirSync(dir);
      if (${when}) process.kill(process.pid, "SIGKILL");
    }
    openSearchIndex({ text: openText(data), documents, hash }, { dir, between });`;
  return spawnSync(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "ignore", "inherit"] })
    .signal;
}

let wholeIndex: Buffer | undefined;

/** The index of it, which is made once. */
function wholeOf(source: SearchSource): Buffer {
  wholeIndex ??= readFileSync(join(indexed(source), INDEX));
  return wholeIndex;
}

test("a build whose process is killed continues to the same bytes", () => {
  const source = largeSource(THREE_PARTS);
  const whole = wholeOf(source);
  const dir = folderWith();
  const parts = () => readdirSync(dir).filter((name) => name.endsWith(".part"));
  const kills: string[] = [
    "true",
    'names.filter((name) => name.endsWith(".part")).length >= 2',
    // The parts are being joined.
    `names.some((name) => /\\.index\\.[0-9a-f-]+\\.\\d+\\.tmp$/.test(name))`,
  ];
  const kept: number[] = [];
  for (const when of kills) {
    expect(killedBuild(source, dir, when)).toBe("SIGKILL");
    expect(readdirSync(dir)).not.toContain(INDEX);
    kept.push(parts().length);
  }
  expect(kept).toEqual(kept.toSorted());
  expect(kept.at(-1)).toBe(3);
  indexed(source, dir);
  expect(readFileSync(join(dir, INDEX)).equals(whole)).toBe(true);
  expect(readdirSync(dir)).toEqual([INDEX]);
});

test("a part that is damaged is made again, and a stop in the middle of joining keeps all", () => {
  const source = largeSource(THREE_PARTS);
  const whole = wholeOf(source);
  const dir = folderWith();
  const names = () => readdirSync(dir);
  const joining = () =>
    names().some((name) => name.includes(".index.") && name.endsWith(".tmp") && !name.includes(".part."));
  const between = () => {
    if (joining()) throw new Error("stop");
  };
  expect(() => openSearchIndex(source, { dir, between })).toThrow("stop");
  expect(names().filter((name) => name.endsWith(".part"))).toHaveLength(3);
  expect(names()).toHaveLength(3);
  const [part = ""] = names();
  const bytes = readFileSync(join(dir, part));
  bytes.writeUInt8(bytes.readUInt8(70_000) ^ 1, 70_000);
  writeFileSync(join(dir, part), bytes);
  indexed(source, dir);
  expect(readFileSync(join(dir, INDEX)).equals(whole)).toBe(true);
  expect(names()).toEqual([INDEX]);
});

test("a full disk is told by its code, and nothing is left on it", ({ skip }) => {
  if (!canMount()) skip("this process may not mount");
  const disk = smallDisk(64 * 2 ** 20);
  fillBut(disk, 2 * 2 ** 20);
  const before = readdirSync(disk);
  const source = largeSource(THREE_PARTS);
  const open = () => openSearchIndex(source, { dir: disk });
  expect(open).toThrow(expect.objectContaining({ code: "ENOSPC" }));
  expect(readdirSync(disk)).toEqual(before);
  expect(open).toThrow(expect.objectContaining({ code: "ENOSPC" }));
});
