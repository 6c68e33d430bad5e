import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "../../scripts/process.ts";
import { digest } from "../../src/pi/read-cache/file.ts";
import { TEST_EXTENSION } from "../../tests/support/command.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../../tests/support/model-server.ts";
import { piHome } from "../../tests/support/pi/home.ts";
import { entriesIn, type PiLine, startPi } from "../../tests/support/pi/process.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";

export interface ReadsOptions {
  readonly line: PiLine;
  /** The setting `read_cache`. */
  readonly isCached: boolean;
  readonly reads: number;
  readonly changes: number;
  readonly seed: number;
}

/** What reading files again and again came to. Tokens are characters / 4 of what was sent. */
export interface ReadsReport {
  /** Of the results of `read`. */
  readonly readTokens: number;
  /** The last request. */
  readonly windowTokens: number;
  /** All requests together, before any prompt cache of a provider. */
  readonly inputTokens: number;
  /** Answers by their mode. */
  readonly modes: ReadonlyMap<string, number>;
}

/** More than the reads come to, so that no text goes outside and nothing is compacted. */
const WINDOW = 1_000_000;
const FILES = 10;

/**
 * Has a scripted model read sources of this repository in a real Pi: few of them often, a quarter of the reads in ranges,
 * with changes by somebody else between.
 */
export async function readsAgain({ line, isCached, reads, changes, seed }: ReadsOptions): Promise<ReadsReport> {
  const tokens: number[] = [];
  await using server = await startModelServer((request) => {
    tokens.push(Math.ceil(request.sent.length / 4));
    return turnOf(request);
  });
  const files = sources();
  using home = piHome({ url: server.url, files, window: WINDOW, settings: { read_cache: isCached } });
  await using pi = startPi(line, { home, extensions: [TEST_EXTENSION] });
  const random = seededRandom(seed);
  // In an order that has nothing to do with their sizes.
  const names = Object.keys(files).toSorted((a, b) => digest(a).localeCompare(digest(b)));
  // The square prefers the first ones.
  const anyName = () => names[Math.floor(random() ** 2 * names.length)] ?? "";
  const changesAt = Array.from({ length: reads }, (_, n) => Math.floor(((n + 1) * changes) / reads));
  for (let n = 0; n < reads; n++) {
    if ((changesAt[n] ?? 0) > (changesAt[n - 1] ?? 0)) change(join(home.project, anyName()), random);
    await pi.prompt(promptOf(n, anyName(), random));
  }
  const results = entriesIn(await pi.sessionFile()).flatMap(({ message }) =>
    message?.role === "toolResult" ? [message] : [],
  );
  const modes = new Map<string, number>();
  for (const result of results) {
    const mode = modeOf(result);
    modes.set(mode, (modes.get(mode) ?? 0) + 1);
  }
  return {
    readTokens: results.reduce((sum, { content }) => sum + Math.ceil(JSON.stringify(content).length / 4), 0),
    windowTokens: tokens.at(-1) ?? 0,
    inputTokens: tokens.reduce((sum, count) => sum + count, 0),
    modes,
  };
}

/** Ten sources of this repository, spread evenly from 4 to 14 KB. */
function sources(): Record<string, string> {
  const found = globSync("{runtime,builtins,src,campaigns,bench}/**/*.ts", { cwd: ROOT }).toSorted();
  const sized = found.map((path) => ({ path, size: statSync(join(ROOT, path)).size }));
  const chosen = Array.from({ length: FILES }, (_, n) => {
    const wanted = 4_500 + n * 1_000;
    const [nearest] = sized.toSorted((a, b) => Math.abs(a.size - wanted) - Math.abs(b.size - wanted));
    return nearest?.path ?? "";
  });
  return Object.fromEntries(
    chosen.map((path, n) => [`${n}-${basename(path)}`, readFileSync(join(ROOT, path), "utf8")]),
  );
}

/** Changes one to three lines in one place. */
function change(path: string, random: () => number): void {
  const lines = readFileSync(path, "utf8").split("\n");
  const at = Math.floor(random() * lines.length);
  const count = 1 + Math.floor(random() * 3);
  const changed = lines.slice(at, at + count).map((line) => `${line} // changed ${Math.floor(random() * 1e6)}`);
  writeFileSync(path, lines.toSpliced(at, count, ...changed).join("\n"));
}

function promptOf(n: number, path: string, random: () => number): string {
  const isRange = random() < 0.25;
  const range = isRange ? { offset: 1 + 50 * Math.floor(random() * 3), limit: 100 } : {};
  return `Read ${n} ${JSON.stringify({ path, ...range })}`;
}

function turnOf({ index, prompt, body }: SeenRequest): ScriptedAnswer {
  const [, args] = /Read \d+ (\{.*?\})/.exec(prompt.replaceAll('\\"', '"')) ?? [];
  if (body.messages.at(-1)?.role !== "user" || args === undefined) return { text: "I have read it." };
  return { tools: [{ id: `call_${index}`, name: "read", arguments: JSON.parse(args) }] };
}

function modeOf(result: object): string {
  const { details }: { readonly details?: { readonly readcache?: { readonly mode?: string } } } = result;
  return details?.readcache?.mode ?? "Pi's own";
}
