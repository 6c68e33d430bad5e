import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob, posix } from "node:path";
import { parseSync } from "oxc-parser";
import * as v from "valibot";
import { ROOT } from "./process.ts";

const LayersSchema = v.object({
  /** Files outside of a folder that its files may import, by the folder. */
  folders: v.record(v.string(), v.array(v.string())),
  /** Files that may import a package, by its name. `*` stands for any part of a name. */
  packages: v.record(v.string(), v.array(v.string())),
});

/** What `layers.json` says: who may import whom, and which packages. */
type Layers = v.InferOutput<typeof LayersSchema>;

export const readLayers = (): Layers =>
  v.parse(LayersSchema, JSON.parse(readFileSync(join(ROOT, "layers.json"), "utf8")));

/** An import of a file, with the specifier as it is written there. */
export interface Import {
  readonly file: string;
  readonly specifier: string;
}

/** Sources of the layers: paths from the root of the checkout. */
export const layeredFiles = (): string[] =>
  globSync("{src,runtime,builtins}/**/*.{ts,js}", { cwd: ROOT })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !file.endsWith(".d.ts"))
    .sort();

/** Specifiers that a source imports, at its top or while it runs, types included. */
export function importsIn(file: string, source = readFileSync(join(ROOT, file), "utf8")): Import[] {
  const parsed = parseSync(file, source, { sourceType: "module" });
  // The tree takes several times as long to read as the file, and has no import beyond the list but those with a bracket.
  if (source.includes("import(")) return importsOf(file, parsed.program);
  const { staticImports, staticExports } = parsed.module;
  const exported = staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest ?? []));
  const found = new Set(
    [...staticImports.map(({ moduleRequest }) => moduleRequest), ...exported].map(({ value }) => value),
  );
  return Array.from(found, (specifier) => ({ file, specifier }));
}

/** As `importsIn`, of the syntax tree of a source. */
export function importsOf(file: string, program: unknown): Import[] {
  const found = new Set<string>();
  walk(program, (node) => {
    if (SPECIFIED.has(node.type) && isText(node.source)) found.add(node.source.value);
  });
  return Array.from(found, (specifier) => ({ file, specifier }));
}

/** Nodes that name a module. */
const SPECIFIED = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isText = (node: unknown): node is { readonly value: string } =>
  typeof node === "object" && node !== null && "value" in node && typeof node.value === "string";

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

/** Visits each node of a syntax tree. */
export function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  if (!isNode(value)) return;
  visit(value);
  for (const field of Object.values(value)) walk(field, visit);
}

/** Why the layers refuse an import; null: they allow it. */
export function refusalOf({ file, specifier }: Import, { folders, packages }: Layers): string | null {
  if (!specifier.startsWith(".")) {
    const names = Object.keys(packages).filter((name) => isPackage(specifier, name));
    const isRefused = names.some((name) => !packages[name]?.some((owner) => matchesGlob(file, owner)));
    return isRefused ? `${file} may not import ${specifier}: other files own this package` : null;
  }
  const target = posix.join(posix.dirname(file), specifier);
  const layer = layerOf(file, folders);
  if (layer === undefined || layerOf(target, folders) === layer) return null;
  const known = folders[layer] ?? [];
  return known.some((path) => matchesGlob(target, path)) ? null : `${file} may not import ${target}`;
}

/** True for the package itself and for what lies in it. */
function isPackage(specifier: string, name: string): boolean {
  return name.endsWith("*")
    ? specifier.startsWith(name.slice(0, -1))
    : specifier === name || specifier.startsWith(`${name}/`);
}

/** The longest folder that holds the file. */
const layerOf = (path: string, folders: Layers["folders"]): string | undefined =>
  Object.keys(folders)
    .filter((folder) => path.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0];
