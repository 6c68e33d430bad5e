import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SearchSource } from "../../../../src/context/search/build.ts";
import { chunksIn, type Span } from "../../../../src/context/search/chunks.ts";
import { openSearchIndex } from "../../../../src/context/search/search.ts";
import { INDEX_FORMAT, queryTerms, stemOf, tokensOf } from "../../../../src/context/search/tokens.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { anyCharacter } from "../../../support/any-character.ts";
import { seededRandom } from "../../../support/seeded-random.ts";
import { folderWith } from "../../../support/tree.ts";

const HASH = "0123456789abcdef".repeat(4);
/** Most UTF-16 units in a chunk. */
const CHUNK_UNITS = 1500;
const INDEX = `${HASH}-v${INDEX_FORMAT}.index`;

/** A folder that is not there yet. */
const freshDir = () => join(folderWith(), "search");

/** The chunks of a source with their texts. */
const chunked = ({ text, documents }: SearchSource) =>
  Array.from(chunksIn(text.read(0, text.bytes), 0, documents), ({ start, end }) => ({
    start,
    end,
    text: text.slice(start, end),
  }));

/** A source in memory. */
interface TestSource extends SearchSource {
  readonly documents: readonly Span[];
}

/** A context of these documents with a separator before each. */
function sourceOf(...contents: string[]): TestSource {
  let P = "";
  const documents = contents.map((content, number) => {
    P += `\n===== separator${number} =====\n`;
    const start = P.length;
    P += content;
    return { start, end: P.length };
  });
  return { text: textFromString(P), documents, hash: HASH };
}

function search(source: SearchSource, query: string, k = 10) {
  using index = openSearchIndex(source, { dir: freshDir() });
  return index.search(query, k);
}

function found(contents: string[], query: string): string[] {
  return search(sourceOf(...contents), query).map(({ text }) => text);
}

test("a hit is a slice of P with its offsets and a positive score", () => {
  const source = sourceOf("Grüße 😀\nsecond line\n", "another document\n");
  const [hit, ...others] = search(source, "GRUSSE second");
  expect(others).toEqual([]);
  expect(hit).toMatchObject({ text: "Grüße 😀\nsecond line\n", ...source.documents[0] });
  expect(hit?.score).toBeGreaterThan(0);
  expect(hit?.score).toBe(Number(hit?.score.toPrecision(6)));
});

test("text between documents is not searched", () => {
  expect(found(["first", "second"], "separator1")).toEqual([]);
});

test("a context without text answers nothing", () => {
  expect(search(sourceOf(), "a")).toEqual([]);
  expect(search(sourceOf("", "\n\n"), "a")).toEqual([]);
});

test.each([
  ["parseHTTPRequest", ["parseHTTPRequest", "parsehttprequest", "PARSEHTTPREQUEST", "parse", "http", "Request"]],
  ["parseHTTPRequest", ["http request", "parse_http_request", "parse-http-request"]],
  ["XMLHttpRequest", ["xml", "http", "request", "xmlhttprequest"]],
  ["max_output_bytes", ["max_output_bytes", "MAX_OUTPUT_BYTES", "maxOutputBytes", "output", "output bytes"]],
  ["__get_userName__", ["get", "user", "name", "username", "getUserName"]],
  ["--my-component-name", ["my-component-name", "component", "MyComponentName"]],
  ["sha256Sum", ["sha256", "sha", "256", "sum"]],
  ["utf-8", ["utf8", "utf", "UTF_8"]],
  ["http2Server apiV2", ["http2", "http", "server", "v2"]],
  ["iPhone", ["iphone", "phone"]],
  ["naïve Ångström CAFÉ", ["naive", "angstrom", "café", "cafe\u0301"]],
  ["größeÄndern", ["große", "andern", "Größe"]],
  ["Всё об авторизации", ["все", "Авторизации"]],
  ["ＡＰＩ ｶﾞｲﾄﾞ", ["api", "ガイド"]],
  ["\0binary\u0000tail", ["binary", "tail"]],
])("%s is found by each of %s", (content, queries) => {
  for (const query of queries) {
    expect(found(["something else entirely", content], query), query).toEqual([content]);
  }
});

test("a hash is one word; joining marks alone are none", () => {
  expect(tokensOf("a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0")).toEqual(["a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0"]);
  expect(tokensOf(`a${"-b".repeat(16)}`).every((token) => token.length === 1)).toBe(true);
  expect(tokensOf("_ - -- ___ ❤️ 😀 \ud800 “…”")).toEqual([]);
});

test.each([
  ["検索", "全文検索エンジンの設計"],
  ["猫", "猫が好き"],
  ["ガイド", "利用ガイド。"],
  ["設計 API", "このAPIの設計"],
  ["서울", "서울에서 만나요"],
  ["สวัสดี", "สวัสดีครับ"],
])("%s ranks %s first", (query, content) => {
  expect(found(["索引と検討", "犬も好き", "API", "만나요 울산 서산", "ครับ", content], query)[0]).toBe(content);
});

test("a whole identifier ranks above many repetitions of its parts", () => {
  const parts = "parse the http request and parse http request again: request http parse\n".repeat(8);
  const filler = Array.from({ length: 40 }, (_, n) => `unrelated text number ${n} about nothing\n`.repeat(20));
  const exact = `${"plain words in a line of text\n".repeat(20)}const r = parseHTTPRequest(socket);\n`;
  for (const query of ["parseHTTPRequest", "parse_http_request", "parsehttprequest"]) {
    expect(found([parts, ...filler, exact], query)[0], query).toBe(exact);
    expect(found([parts, exact], query)[0], query).toBe(exact);
  }
});

test.each([
  ["connections", "connection reset by peer"],
  ["resets", "the peer reset it"],
  ["indexing queries", "an index for each query"],
  ["parsers", "class InvoiceParser {}"],
  ["parsing requests", "parseHTTPRequest(socket)"],
])("%s finds %s", (query, content) => {
  expect(found(["something else entirely", content], query)).toEqual([content]);
});

test("the word itself ranks above any number of its other forms", () => {
  const forms = "connection connected connecting\n".repeat(20);
  const plain = "plain words in a line of text\n".repeat(20);
  const filler = Array.from({ length: 200 }, (_, n) => `unrelated text number ${n}\n`.repeat(20));
  for (const word of ["connections", "connect"]) {
    const exact = `${plain}two ${word}\n`;
    expect(found([...Array.from({ length: 60 }, () => forms), ...filler, exact], word)[0], word).toBe(exact);
  }
});

test("stems are those of SQLite's tokenizer", () => {
  const random = seededRandom(3);
  const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? "";
  const endings =
    "s es ies sses ed eed ing y e ll ational izer ization iveness aliti icate ical ness ement ion tion ate ize".split(
      " ",
    );
  const words = Array.from({ length: 4000 }, () => {
    const letters = Array.from({ length: 1 + Math.floor(random() * 6) }, () => pick([..."aeiouybcdlstzwxnrm"]));
    return `${letters.join("")}${pick(endings)}${pick(["", "", ...endings])}`;
  });
  using database = new DatabaseSync(":memory:");
  database.exec(`CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'porter ascii');
    CREATE VIRTUAL TABLE stems USING fts5vocab (words, instance); BEGIN`);
  const add = database.prepare("INSERT INTO words (rowid, word) VALUES (?, ?)");
  for (const [index, word] of words.entries()) add.run(index + 1, word);
  const stems = database.prepare("SELECT doc, term FROM stems").all();
  expect(stems).toHaveLength(words.length);
  expect(stems.filter(({ doc, term }) => stemOf(words[Number(doc) - 1] ?? "") !== term)).toEqual([]);
  // The best line of a hit is looked for among words that begin as the query's do.
  expect(words.filter((word) => stemOf(word).charAt(0) !== word.charAt(0))).toEqual([]);
});

test("chunks are whole lines, as many as fit", () => {
  const line = `${"x".repeat(399)}\n`;
  const source = sourceOf(line.repeat(7), "short");
  const lengths = chunked(source).map(({ start, end }) => end - start);
  expect(lengths).toEqual([1200, 1200, 400, 5]);
});

test("a long line is cut at the limit, and not inside an emoji", () => {
  const source = sourceOf(`a${"😀".repeat(CHUNK_UNITS)}\nend`);
  const chunks = chunked(source);
  expect(chunks.map(({ text }) => text.length)).toEqual([1499, 1500, 6]);
  expect(chunks.every(({ text }) => text.isWellFormed())).toBe(true);
  expect(chunks.at(-1)?.text).toBe("😀\nend");
});

test("chunks tile every document, end at a line end or at the limit, and hold their slice of P", () => {
  const piece = fc.oneof(fc.constantFrom("\n", "\r\n", "😀", "é", "word ", "漢字", "x".repeat(700)), fc.string());
  const content = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join("").toWellFormed());
  fc.assert(
    fc.property(fc.array(content, { maxLength: 4 }), (contents) => {
      const { text, documents, ...rest } = sourceOf(...contents);
      const chunks = chunked({ text, documents, ...rest });
      for (const { start, end } of documents) {
        const inside = chunks.filter((chunk) => chunk.start >= start && chunk.end <= end);
        expect(inside.map((chunk) => chunk.text).join("")).toBe(text.slice(start, end));
        for (const chunk of inside) {
          expect(chunk.text).toBe(text.slice(chunk.start, chunk.end));
          expect(chunk.text.length).toBeGreaterThan(0);
          expect(chunk.text.length).toBeLessThanOrEqual(CHUNK_UNITS);
          expect(chunk.text.isWellFormed()).toBe(true);
          if (chunk.end < end) expect(chunk.text.endsWith("\n") || chunk.text.length >= CHUNK_UNITS - 1).toBe(true);
        }
      }
      expect(chunks.length).toBe(new Set(chunks.map(({ start }) => start)).size);
    }),
  );
});

/** Twice the score of words as they are written, and that of their stems. */
function referenceScores(chunks: readonly string[], query: string): { at: number; score: number }[] {
  const exact = bm25(chunks, query, (token) => token);
  const stemmed = bm25(chunks, query, (token) => STEMS[token] ?? token);
  return chunks
    .map((_, at) => ({ at, score: 2 * (exact[at] ?? 0) + (stemmed[at] ?? 0) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.at - b.at);
}

/** BM25 as FTS5 defines it (k1 1.2, b 0.75, idf at least 1e-6), over the tokens of each chunk. */
function bm25(chunks: readonly string[], query: string, form: (token: string) => string): number[] {
  const bags = chunks.map((chunk) => tokensOf(chunk).map(form));
  const average = bags.reduce((sum, bag) => sum + bag.length, 0) / bags.length;
  const terms = [...queryTerms(query)].map(([token, weight]) => {
    const term = form(token);
    const holders = bags.filter((bag) => bag.includes(term)).length;
    return { term, factor: weight * Math.max(1e-6, Math.log((bags.length - holders + 0.5) / (holders + 0.5))) };
  });
  return bags.map((bag) =>
    terms.reduce((sum, { term, factor }) => {
      const count = bag.filter((token) => token === term).length;
      return sum + (factor * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * bag.length) / average));
    }, 0),
  );
}

/** Words of the vocabulary that are forms of another one. */
const STEMS: Readonly<Record<string, string>> = { parsing: "parse", errors: "error", tokens: "token", bytes: "byte" };

const VOCABULARY =
  "the a of return readFile writeFile max_bytes max-bytes http2Server parse error token 検索 größe sha256 index parsing errors tokens byte".split(
    " ",
  );

/** 300 documents of one chunk each; word n of the vocabulary is about as frequent as 1 / (n + 1). */
function generated(): string[] {
  const random = seededRandom(7);
  const next = (below: number) => Math.floor(random() * below);
  return Array.from({ length: 300 }, () =>
    Array.from({ length: 5 + next(60) }, () => VOCABULARY[next(1 + next(VOCABULARY.length))]).join(" "),
  );
}

test.each([
  ...["readFile", "http2Server error", "the", "検索 index", "how to parse a token of sha256", "max_bytes größe"],
  ...["errors parsing tokens", "write writeFile the the the"],
])("ranks and scores as BM25 computed by hand: %s", (query) => {
  const contents = generated();
  const source = sourceOf(...contents);
  const expected = referenceScores(contents, query);
  const hits = search(source, query, 10);
  expect(hits).toHaveLength(Math.min(10, expected.length));
  hits.forEach((hit, rank) => {
    expect(hit.score).toBeCloseTo(expected[rank]?.score ?? 0, 4);
    const at = source.documents.findIndex(({ start }) => start === hit.start);
    const own = expected.find((candidate) => candidate.at === at);
    expect(hit.score, "the hit's own score").toBeCloseTo(own?.score ?? 0, 4);
  });
});

test("equal chunks come in the order of P, in every run", () => {
  const source = sourceOf(...Array.from({ length: 30 }, (_, n) => (n % 3 === 0 ? "same words here" : "other text")));
  const hits = search(source, "words", 7);
  const found = source.documents.filter((_, n) => n % 3 === 0).slice(0, 7);
  expect(hits.map(({ start }) => start)).toEqual(found.map(({ start }) => start));
  expect(search(source, "words", 7)).toEqual(hits);
});

test.each([
  '"',
  "*",
  "NEAR(",
  "-x",
  "body:x",
  "a AND",
  "(",
  "^a",
  "x OR",
  "a' --",
  "words MATCH",
  "\0",
  "\ud800a",
  "{a}:b",
])("the query %j is data", (query) => {
  const contents = ["near x a and or", "body words match b"];
  const expected = contents.filter((content) => tokensOf(query).some((token) => content.split(" ").includes(token)));
  expect(found(contents, query).toSorted()).toEqual(expected.toSorted());
});

test("any query is answered", () => {
  using index = openSearchIndex(sourceOf(...generated().slice(0, 20)), { dir: freshDir() });
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (query) => index.search(query, 3).length <= 3));
  expect(index.search("", 3)).toEqual([]);
  expect(index.search("?! … 😀 --", 3)).toEqual([]);
  expect(index.search("parseHTTPRequestFromTheFirstServer readFile ".repeat(5000), 3)).toHaveLength(3);
  expect(index.search(Array.from({ length: 5000 }, (_, n) => `someName${n}`).join(" "), 3)).toEqual([]);
});

test("the index is one private file per context, built once", () => {
  const dir = freshDir();
  const source = sourceOf("alpha", "beta");
  const path = join(dir, INDEX);
  const progress: number[] = [];
  openSearchIndex(source, { dir, onProgress: (fraction) => progress.push(fraction) })[Symbol.dispose]();
  expect(readdirSync(dir)).toEqual([INDEX]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(progress.at(-1)).toBe(1);
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
  const { ino, mtimeNs } = statSync(path, { bigint: true });
  progress.length = 0;
  using again = openSearchIndex(source, { dir, onProgress: (fraction) => progress.push(fraction) });
  expect(again.search("beta", 5)).toHaveLength(1);
  expect(progress).toEqual([]);
  expect(statSync(path, { bigint: true })).toMatchObject({ ino, mtimeNs });
});

const DAMAGE: Record<string, (path: string, dir: string) => void> = {
  "an empty file": (path) => writeFileSync(path, ""),
  "something else": (path) => writeFileSync(path, "SQLite format 3\0".repeat(600)),
  "a truncated file": (path) => truncateSync(path, statSync(path).size - 100),
  "a file with one other bit": (path) => {
    const bytes = readFileSync(path);
    bytes.writeUInt8(bytes.readUInt8(30) ^ 4, 30);
    writeFileSync(path, bytes);
  },
  "the index of other documents": (path, dir) => {
    const other = { ...sourceOf("alpha", "beta"), documents: [{ start: 0, end: 5 }] };
    rmSync(path);
    openSearchIndex(other, { dir })[Symbol.dispose]();
  },
};

test.each(Object.entries(DAMAGE))("%s in its place is replaced", (_, damage) => {
  const dir = freshDir();
  const path = join(dir, INDEX);
  const source = sourceOf("alpha", "beta");
  openSearchIndex(source, { dir })[Symbol.dispose]();
  const kept = readFileSync(path);
  damage(path, dir);
  let builds = 0;
  using index = openSearchIndex(source, { dir, onProgress: (fraction) => (builds += fraction === 1 ? 1 : 0) });
  expect(builds).toBe(1);
  expect(index.search("beta", 5).map(({ text }) => text)).toEqual(["beta"]);
  expect(readFileSync(path)).toEqual(kept);
});

/** 9 MB: parts enough for a second thread. */
const LARGE = sourceOf(
  ...Array.from({ length: 7 }, (_, n) => `line ${n} of a largeText\n`.repeat(80_000)),
  "größe 検索\n".repeat(1000),
);

test("a build that is stopped keeps its parts, and the next one goes on from there", () => {
  const dir = freshDir();
  const partsIn = () => readdirSync(dir).filter((name) => name.endsWith(".part"));
  const between = () => {
    if (partsIn().length > 1) throw new Error("stop");
  };
  expect(() => openSearchIndex(LARGE, { dir, between })).toThrow("stop");
  const parts = partsIn();
  expect(readdirSync(dir)).not.toContain(INDEX);
  // A thread that was killed in the middle of a part leaves a piece of it.
  truncateSync(join(dir, parts[0] ?? ""), 1000);
  const times = () => parts.slice(1).map((part) => statSync(join(dir, part), { bigint: true }).mtimeNs);
  const before = times();
  let after: bigint[] = [];
  const onProgress = (fraction: number) => {
    if (fraction < 1) after = times();
  };
  using index = openSearchIndex(LARGE, { dir, onProgress });
  expect(after).toEqual(before);
  expect(partsIn()).toEqual([]);
  expect(index.search("größe", 1)).toHaveLength(1);
});

test("an index that would be too large is refused by name, at once the next time, and leaves a note of that alone", () => {
  const dir = freshDir();
  const error = { code: "search_too_large", message: expect.stringMatching(/P \(0\.\d* MB\) would have more than/) };
  let looks = 0;
  const open = (maxBytes: number) => openSearchIndex(sourceOf("alpha"), { dir, maxBytes, between: () => void looks++ });
  const times = [1, 2].map(() => {
    expect(() => open(10)).toThrow(expect.objectContaining(error));
    return readdirSync(dir);
  });
  const [note = ""] = times[0] ?? [];
  expect(times).toEqual([[note], [note]]);
  expect(note).toMatch(/-v\d+\.index\.refused$/);
  // Nothing is built again.
  const { mtimeNs } = statSync(join(dir, note), { bigint: true });
  expect(() => open(10)).toThrow(expect.objectContaining(error));
  expect(statSync(join(dir, note), { bigint: true }).mtimeNs).toBe(mtimeNs);
  using index = open(1e6);
  expect([index.search("alpha", 1).length, looks > 0]).toEqual([1, true]);
});

test("threads that build the same index at once all end with a good one", async () => {
  const dir = freshDir();
  const source = sourceOf(...generated());
  const module = new URL("../../../../src/context/search/search.ts", import.meta.url).href;
  const text = new URL("../../../../src/context/text/text.ts", import.meta.url).href;
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    Promise.all([import(${JSON.stringify(module)}), import(${JSON.stringify(text)})]).then(([search, text]) => {
      const { data, documents, hash, dir } = workerData;
      const index = search.openSearchIndex({ text: text.openText(data), documents, hash }, { dir });
      parentPort.postMessage(index.search("readFile error", 10));
    });`;
  const { documents, hash } = source;
  const workerData = { data: source.text.data, documents, hash, dir };
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      new Worker(code, { eval: true, workerData, stderr: true }).once("message", resolve).once("error", reject);
      return promise;
    }),
  );
  const expected = search(source, "readFile error");
  expect(answers).toEqual([expected, expected, expected, expected]);
  expect(readdirSync(dir)).toEqual([INDEX]);
});

test("a disposed index is closed, and disposing it again does nothing", () => {
  const index = openSearchIndex(sourceOf("alpha"), { dir: freshDir() });
  index[Symbol.dispose]();
  index[Symbol.dispose]();
  expect(() => index.search("alpha", 1)).toThrow("closed");
});
