import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as acorn from "acorn";
import { mustRun } from "./process.ts";

// When V8 compiles a file it only looks for the ends of its functions, and reads each again when it is called. What Node keeps of a
// compiled file is without them, too. A function in parentheses is compiled with its file.

/** Puts the functions that the first cell of a process calls, by the command or by the library, into parentheses. */
export async function compileEarly(folder: string): Promise<void> {
  const trial = await mkdtemp(join(tmpdir(), "belay-eager-"));
  try {
    const files = await calledFunctions(folder, trial);
    for (const [file, called] of files) await writeFile(file, eager(await readFile(file, "utf8"), called));
  } finally {
    await rm(trial, { recursive: true, force: true });
  }
}

/** The first unit of a function in its file, and the one behind its last. */
export type Range = `${number}-${number}`;

/** Functions that are called, by the file of the bundle. @param trial an empty folder */
async function calledFunctions(folder: string, trial: string): Promise<ReadonlyMap<string, ReadonlySet<Range>>> {
  const coverage = join(trial, "coverage");
  // The settings and the key of who builds are left alone.
  const given = Object.entries(process.env).filter(([name]) => !name.startsWith("BELAY_"));
  const homes = { HOME: trial, USERPROFILE: trial, XDG_CONFIG_HOME: trial, BELAY_HOME: join(trial, "home") };
  const options = { cwd: trial, env: { ...Object.fromEntries(given), ...homes, NODE_V8_COVERAGE: coverage } };
  const cell = [join(folder, "src/cli/main.js"), "exec", "-e", "1+1"];
  // The first makes the store.
  for (const args of [cell, cell, ["--input-type=module", "-e", inMemory(folder)]]) {
    await mustRun(process.execPath, args, options);
  }
  const files = new Map<string, Set<Range>>();
  for (const name of await readdir(coverage)) {
    const { result }: Coverage = JSON.parse(await readFile(join(coverage, name), "utf8"));
    for (const { url, functions } of result) {
      if (!url.startsWith(pathToFileURL(join(folder, "/")).href)) continue;
      const called = files.get(fileURLToPath(url)) ?? new Set();
      files.set(fileURLToPath(url), called);
      for (const { ranges } of functions) {
        const [{ startOffset, endOffset, count }] = ranges;
        if (count > 0) called.add(`${startOffset}-${endOffset}`);
      }
    }
  }
  return files;
}

const inMemory = (folder: string) => `
  import { openSession } from "${pathToFileURL(join(folder, "src/index.js")).href}";
  const session = await openSession();
  await session.exec("1+1");
  await session.close();
`;

/** V8's report on the scripts of one thread. The first range of a function is all of it. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly [Counted, ...Counted[]] }[];
  }[];
}

interface Counted {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** A part of a module that is written in another way. */
interface Part {
  readonly start: number;
  readonly end: number;
  /** Those within it. */
  readonly parts: Part[];
  /** @param inner writes what lies from `start` to `end`, which is within the part */
  write(inner: (start: number, end: number) => string): string;
}

/** Returns a module that does the same, in which these functions are compiled early. Methods of classes and asynchronous arrows cannot be. */
export function eager(text: string, called: ReadonlySet<Range>): string {
  const parts: Part[] = [];
  findParts(acorn.parse(text, { ecmaVersion: "latest", sourceType: "module" }), parts);
  return written(0, text.length, parts);

  function findParts(node: acorn.AnyNode, found: Part[]): void {
    const own = isCalled(node) ? partOf(node) : null;
    if (own) found.push(own);
    const body = "body" in node && Array.isArray(node.body) ? withHoisted(node, node.body) : null;
    if (body) (own?.parts ?? found).push(body);
    const within = (body ?? own)?.parts ?? found;
    for (const child of childrenOf(node)) findParts(child, within);
  }

  function partOf(node: acorn.AnyNode): Part | null {
    const { start, end } = node;
    if (node.type === "FunctionExpression" || (node.type === "ArrowFunctionExpression" && !node.async)) {
      return { start, end, parts: [], write: (inner) => `(${inner(start, end)})` };
    }
    if (node.type !== "Property" || !node.method) return null;
    const { key, value } = node;
    if (value.type !== "FunctionExpression" || usesSuper(value)) return null;
    const name = text.slice(key.start, key.end);
    const head = `${node.computed ? `[${name}]` : name}: (${wordsOf(value)}`;
    return { start, end, parts: [], write: (inner) => `${head}${inner(value.start, end)})` };
  }

  /** The declarations of a block are made where it begins, as they always were. */
  function withHoisted(block: acorn.AnyNode, body: readonly acorn.AnyNode[]): Part | null {
    const declared = body.filter(isDeclaration).filter(isCalled);
    const start = body.find(({ type }) => type !== "ImportDeclaration")?.start ?? block.end;
    const end = body.at(-1)?.end ?? start;
    // A variable of a module that is never read too early needs no look at each use.
    const word = block.type === "Program" ? "var" : "let";
    if (declared.length === 0) return null;
    return {
      start,
      end,
      parts: [],
      write(inner) {
        const made = declared.map(({ id, ...node }) => {
          const parameters = text.indexOf("(", id.end);
          return `${word} ${id.name} = (${wordsOf(node)}${inner(parameters, node.end)});\n`;
        });
        const starts = [start, ...declared.map((node) => node.end)];
        const ends = [...declared.map((node) => node.start), end];
        return [...made, ...starts.map((from, n) => inner(from, ends[n] ?? end))].join("");
      },
    };
  }

  function isCalled({ start, end }: acorn.AnyNode): boolean {
    return called.has(`${start}-${end}`);
  }

  function written(start: number, end: number, parts: readonly Part[]): string {
    let made = "";
    let at = start;
    for (const part of parts) {
      if (part.start < at || part.end > end) continue;
      made += text.slice(at, part.start) + part.write((from, to) => written(from, to, part.parts));
      at = part.end;
    }
    return made + text.slice(at, end);
  }
}

function wordsOf({ async, generator }: Pick<acorn.Function, "async" | "generator">): string {
  return `${async ? "async " : ""}function${generator ? "*" : ""} `;
}

function isDeclaration(node: acorn.AnyNode): node is acorn.FunctionDeclaration {
  return node.type === "FunctionDeclaration";
}

function usesSuper(node: acorn.AnyNode): boolean {
  return node.type === "Super" || childrenOf(node).some(usesSuper);
}

function childrenOf(node: acorn.AnyNode): acorn.AnyNode[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is acorn.AnyNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
