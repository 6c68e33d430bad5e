import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { extendContext, type LoadedSource, type SmallContext } from "../../../src/context/context.ts";

test("documents are ranges of P, by start, without their separators", async () => {
  const context = await extended([source("/s", { "a.txt": "é\u{1f600}x", "b/c.txt": "" }, "|ü|")]);
  expect(context.text.slice(0, context.text.length)).toBe("|ü|é\u{1f600}x|ü|");
  expect(context.documents).toEqual([
    { id: "a.txt", path: "/s/a.txt", start: 3, end: 7, size: 4 },
    { id: "b/c.txt", path: "/s/b/c.txt", start: 10, end: 10, size: 0 },
  ]);
});

test("ids that collide get the source's name, then a number", async () => {
  const sources = ["/one", "/two", "/x/two", "/y/two"].map((name) => source(name, { "a.txt": "" }));
  const context = await extended(sources);
  expect(context.documents.map(({ id }) => id)).toEqual(["a.txt", "two/a.txt", "two/a.txt~2", "two/a.txt~3"]);
  const taken = await extended([
    source("/one", { "a.txt": "", "two/a.txt": "" }),
    source("/two", { "a.txt": "", "two/a.txt": "" }),
  ]);
  expect(new Set(taken.documents.map(({ id }) => id)).size).toBe(4);
});

test("statistics, by their wire names", async () => {
  const agents = "- [Login](src/auth.ts) — who may enter\n- [Docs](docs/)\n";
  const first = await extended([source("/one", { "AGENTS.md": agents, "n.txt": "123" })]);
  expect(first.stats).toEqual({
    ...{ length_chars: agents.length + 3, length_tokens_estimate: Math.floor((agents.length + 3) / 4) },
    ...{ line_count: 3, document_count: 2, has_routing: true, routing_entry_count: 2, sources: ["/one"] },
    ...{ context_hash: first.hash, skipped: { count: 0, unread: 0, files: [], reasons: {} } },
  });
  const second = await extendContext(first, source("/two", { "AGENTS.md": agents }), async () => {});
  expect(second.stats).toMatchObject({ document_count: 3, routing_entry_count: 4, sources: ["/one", "/two"] });
  const sources = second.routes.map((route) => route.source);
  expect(sources).toEqual(["AGENTS.md", "AGENTS.md", "two/AGENTS.md", "two/AGENTS.md"]);
  expect(first.stats.sources).toEqual(["/one"]);
});

test("a context without AGENTS.md has no routing, an empty AGENTS.md is routing without entries", async () => {
  const without = await extended([source("/s", { "MY-AGENTS.md": "- [a](b)" })]);
  expect(without.stats).toMatchObject({ has_routing: false, routing_entry_count: 0 });
  const empty = await extended([source("/s", { "sub/AGENTS.md": "" })]);
  expect(empty.stats).toMatchObject({ has_routing: true, routing_entry_count: 0 });
});

test("skipped files are all counted, and the first 1,000 listed, over several sources", async () => {
  const skipping = (name: string, count: number): LoadedSource => ({
    ...source(name, { x: "" }),
    skipped: Array.from({ length: count }, (_, index) => ({ path: `${name}${index}`, reason: "binary" })),
  });
  const { stats } = await extended([skipping("/a", 700), skipping("/b", 700)]);
  expect(stats.skipped.count).toBe(1400);
  expect(stats.skipped.reasons).toEqual({ binary: 1400 });
  expect(stats.skipped.files.map(({ path }) => path)).toEqual([...names("/a", 700), ...names("/b", 300)]);
});

test("P, hashes, lines and parts agree with the concatenated text", async () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "\n", "\r\n", "é", "\u{1f600}"), maxLength: 12 }), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(texts, async (parts) => {
      const context = await extended(parts.map((text, index) => source(`/${index}`, { "f.txt": text })));
      const whole = parts.join("");
      expect(context.text.slice(0, context.text.length)).toBe(whole);
      expect(context.hash).toBe(sha256(whole));
      expect(context.parts).toEqual(parts.map((text) => ({ hash: sha256(text), bytes: Buffer.byteLength(text) })));
      expect(context.stats.line_count).toBe(
        whole === "" ? 0 : whole.split("\n").length - (whole.endsWith("\n") ? 1 : 0),
      );
      expect(context.documents.map(({ start, end }) => context.text.slice(start, end))).toEqual(parts);
    }),
  );
});

test("all but the text crosses threads, and the text's data does", async () => {
  const { text, ...index } = await extended([source("/s", { "AGENTS.md": "- [a](b)", "ü.txt": "ü" })]);
  expect(structuredClone(index)).toEqual(index);
  expect(structuredClone(text.data)).toEqual(text.data);
});

test("work is paused for in slices of a megabyte, and a pause that rejects ends it", async () => {
  const big = source("/s", { a: "x".repeat(5 * 1024 * 1024) });
  const slices: number[] = [];
  await extendContext(undefined, big, async (bytes) => {
    slices.push(bytes);
  });
  // Five megabytes, put together and then hashed.
  expect(slices).toEqual(Array(10).fill(1024 * 1024));
  await expect(extendContext(undefined, big, () => Promise.reject(new Error("stop")))).rejects.toThrow("stop");
});

async function extended(sources: readonly LoadedSource[]): Promise<SmallContext> {
  let context: SmallContext | undefined;
  for (const next of sources) context = await extendContext(context, next, async () => {});
  if (context === undefined) throw new Error("no source");
  return context;
}

function source(name: string, files: Readonly<Record<string, string>>, separator = ""): LoadedSource {
  const loaded = Object.entries(files).map(([relative, text]) => ({
    ...{ relative, path: `${name}/${relative}`, separator: Buffer.from(separator), bytes: Buffer.from(text) },
  }));
  return { name, files: loaded, skipped: [] };
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("a huge AGENTS.md neither fills the memory with routes nor holds up the thread; what is left out is told", async () => {
  const line = "- [a](b.md)\n";
  const long = line.repeat(Math.ceil((3 * 1024 * 1024) / line.length));
  const files = { "AGENTS.md": long, "src/AGENTS.md": long, "z/AGENTS.md": line };
  const context = await extendContext(undefined, source("/many", files), async () => {});
  expect(context.routes).toHaveLength(100_000);
  expect(context.stats).toMatchObject({
    routing_entry_count: 100_000,
    skipped: {
      count: 3,
      files: [
        { path: "AGENTS.md", reason: "its routes beyond the first 1 MB are left out" },
        { path: "src/AGENTS.md", reason: "its routes beyond 100,000 of the context are left out" },
        { path: "z/AGENTS.md", reason: "its routes beyond 100,000 of the context are left out" },
      ],
    },
  });
});
