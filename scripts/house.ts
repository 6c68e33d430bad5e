import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseSync } from "oxc-parser";
import { type Import, importsOf, layeredFiles, walk } from "./layers.ts";
import { mustRun, ROOT } from "./process.ts";

/** What a reader of the sources feels, counted. */
export interface House {
  /** Files of src, runtime and builtins. */
  readonly files: number;
  /** Names that these files export, those that they pass on from another file counted too. */
  readonly names: number;
  /** Nodes of their syntax trees. */
  readonly nodes: number;
  readonly nodesPerLine: number;
  /** Share of lines over 100 characters, from 0 to 1. */
  readonly longLines: number;
  /** Types that are taken from what a function happens to return. */
  readonly returnTypes: number;
  /** Object literals that are spread into object literals. */
  readonly literalSpreads: number;
  /** Statements that take several constants out of one array. */
  readonly sharedConstants: number;
  /** Groups of files that import each other in a circle, imports of types counted too. */
  readonly circles: number;
  readonly largestCircle: number;
  /** Lines of src/cli. */
  readonly commandLines: number;
  /** Files on each of the four ways of docs/architecture.md. */
  readonly ways: readonly number[];
  /** Words of README.md and docs that nobody generates. */
  readonly words: number;
  /** Scripts of package.json. */
  readonly scripts: number;
}

export function countHouse(): House {
  const sources = layeredFiles().map((file) => sourceOf(file));
  const total = (of: (source: Source) => number) => sources.reduce((sum, source) => sum + of(source), 0);
  const lines = total((source) => source.lines);
  const circles = circlesOf(sources.flatMap(({ imports }) => imports));
  return {
    files: sources.length,
    names: total(({ names }) => names),
    nodes: total(({ nodes }) => nodes),
    nodesPerLine: total(({ nodes }) => nodes) / lines,
    longLines: total(({ long }) => long) / lines,
    returnTypes: total(({ returnTypes }) => returnTypes),
    literalSpreads: total(({ literalSpreads }) => literalSpreads),
    sharedConstants: total(({ sharedConstants }) => sharedConstants),
    circles: circles.length,
    largestCircle: Math.max(0, ...circles.map((files) => files.length)),
    commandLines: sources.filter(({ file }) => file.startsWith("src/cli/")).reduce((sum, one) => sum + one.lines, 0),
    ways: waysOf(readFileSync(join(ROOT, "docs/architecture.md"), "utf8")),
    words: wordsOfPages(),
    scripts: Object.keys(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts).length,
  };
}

/** The counts of one file. */
interface Source extends Pick<House, "names" | "nodes" | "returnTypes" | "literalSpreads" | "sharedConstants"> {
  readonly file: string;
  readonly lines: number;
  readonly long: number;
  readonly imports: readonly Import[];
}

function sourceOf(file: string): Source {
  const text = readFileSync(join(ROOT, file), "utf8");
  const rows = text.trimEnd().split("\n");
  const counts = { names: 0, nodes: 0, literalSpreads: 0, sharedConstants: 0 };
  const { program } = parseSync(file, text, { sourceType: "module" });
  walk(program, (node) => {
    counts.nodes += 1;
    counts.names += namesOf(node);
    if (node.type === "ObjectExpression") counts.literalSpreads += list(node.properties).filter(isLiteralSpread).length;
    if (node.type === "VariableDeclarator" && takesFromArray(node)) counts.sharedConstants += 1;
  });
  return {
    file,
    lines: rows.length,
    long: rows.filter((row) => row.length > 100).length,
    returnTypes: text.split("ReturnType<typeof").length - 1,
    imports: importsOf(file, program),
    ...counts,
  };
}

type Node = Parameters<Parameters<typeof walk>[1]>[0];

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const typeOf = (node: unknown): unknown =>
  typeof node === "object" && node !== null && "type" in node ? node.type : undefined;
const field = (node: unknown, name: string): unknown =>
  typeof node === "object" && node !== null && name in node ? Reflect.get(node, name) : undefined;

function namesOf(node: Node): number {
  if (node.type === "ExportAllDeclaration") return 1;
  if (node.type !== "ExportNamedDeclaration") return 0;
  if (!node.declaration) return list(node.specifiers).length;
  return list(field(node.declaration, "declarations")).length || 1;
}

const isLiteralSpread = (property: unknown) =>
  typeOf(property) === "SpreadElement" && typeOf(field(property, "argument")) === "ObjectExpression";

const takesFromArray = ({ id, init }: Node) => typeOf(id) === "ArrayPattern" && typeOf(init) === "ArrayExpression";

/** Groups of files each of which reaches all others of its group by imports; the largest comes first. */
export function circlesOf(imports: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>();
  for (const { file, specifier } of imports) {
    if (!specifier.startsWith(".")) continue;
    const target = posix.join(posix.dirname(file), specifier);
    targets.set(file, [...(targets.get(file) ?? []), target]);
  }
  const seen = new Map<string, { readonly index: number; low: number; isOpen: boolean }>();
  const open: string[] = [];
  const circles: string[][] = [];

  /** Tarjan's algorithm: a file whose lowest reachable index is its own closes a group. */
  function enter(file: string): { readonly index: number; low: number; isOpen: boolean } {
    const own = { index: seen.size, low: seen.size, isOpen: true };
    seen.set(file, own);
    open.push(file);
    for (const target of targets.get(file) ?? []) {
      const known = seen.get(target);
      if (!known) own.low = Math.min(own.low, enter(target).low);
      else if (known.isOpen) own.low = Math.min(own.low, known.index);
    }
    if (own.low === own.index) close(file);
    return own;
  }

  function close(first: string): void {
    const group = open.splice(open.indexOf(first));
    for (const file of group) {
      const entry = seen.get(file);
      if (entry) entry.isOpen = false;
    }
    if (group.length > 1) circles.push(group);
  }

  for (const file of targets.keys()) if (!seen.has(file)) enter(file);
  return circles.sort((a, b) => b.length - a.length);
}

/** The number of files on each way: the numbered lists under "Four ways through the code". */
export function waysOf(architecture: string): number[] {
  const [, section = ""] = architecture.split("\n## Four ways through the code\n");
  const [ways = ""] = section.split("\n## ");
  const counts: number[] = [];
  for (const line of ways.split("\n")) {
    const number = /^(\d+)\. /.exec(line)?.[1];
    if (number === "1") counts.push(0);
    if (number !== undefined) counts[counts.length - 1] = Number(number);
  }
  return counts;
}

const GENERATED = new Set(["docs/api.md", "docs/builtins.md"]);

function wordsOfPages(): number {
  const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })].filter((page) => !GENERATED.has(page));
  return pages.reduce((sum, page) => sum + (readFileSync(join(ROOT, page), "utf8").match(/\S+/g)?.length ?? 0), 0);
}

/** The number of this project's files of which a command runs a function, by V8's coverage of all its threads. */
async function entered(args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "belay-house-"));
  try {
    await mustRun(process.execPath, [join(ROOT, "src/cli/main.ts"), ...args], {
      cwd: folder,
      env: { ...process.env, NODE_V8_COVERAGE: join(folder, "coverage"), BELAY_HOME: join(folder, "home") },
    });
    const files = new Set<string>();
    for (const name of readdirSync(join(folder, "coverage"))) {
      const { result } = JSON.parse(readFileSync(join(folder, "coverage", name), "utf8"));
      for (const { url, functions } of result) if (isOwn(url) && hasRun(functions)) files.add(fileURLToPath(url));
    }
    return files.size;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const isOwn = (url: string) =>
  ["src", "runtime", "builtins"].some((folder) => url.startsWith(`${pathToFileURL(join(ROOT, folder))}/`));

/** The first function of a script is the script itself, which runs when it is imported. */
const hasRun = (functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]) =>
  functions.slice(1).some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);

if (import.meta.main) {
  const house = countHouse();
  console.table({
    ...house,
    nodesPerLine: house.nodesPerLine.toFixed(2),
    longLines: `${(100 * house.longLines).toFixed(1)} %`,
    ways: house.ways.join(", "),
    enteredByExec: await entered(["exec", "-e", "1+1", "--no-store"]),
  });
}
