import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ESTree, type ParseResult, parseSync } from "rolldown/utils";
import { isRecord } from "../../src/platform/json.ts";
import { ROOT } from "../process.ts";

/** A declaration of the sources, by the name under which it is declared. */
export interface Declared {
  readonly name: string;
  readonly file: string;
  readonly node: ESTree.Declaration;
  /** The text of its docstring, without the stars; empty if it has none. */
  readonly doc: string;
}

/** A name that a module has from elsewhere. */
interface Elsewhere {
  readonly from: string | null;
  readonly name: string;
}

interface Module {
  readonly source: string;
  readonly comments: ParseResult["comments"];
  readonly declared: ReadonlyMap<string, Declared>;
  readonly imported: ReadonlyMap<string, Elsewhere>;
  readonly exported: ReadonlyMap<string, Elsewhere>;
}

const modules = new Map<string, Module>();

/** A module of the sources, by its path from the root of the checkout. */
function moduleAt(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const source = readFileSync(join(ROOT, file), "utf8");
  const { program, comments } = parseSync(file, source);
  const [declared, imported, exported] = [new Map(), new Map(), new Map()];
  const read = { source, comments, declared, imported, exported };
  modules.set(file, read);
  const declare = (node: ESTree.Declaration, start: number) => {
    const names = node.type === "VariableDeclaration" ? node.declarations.map(({ id }) => id) : [node.id];
    const doc = docBefore(read, start);
    for (const id of names) {
      if (id && "name" in id) declared.set(id.name, { name: id.name, file, node, doc });
    }
    return names.flatMap((id) => (id && "name" in id ? [String(id.name)] : []));
  };
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      for (const { local, ...specifier } of node.specifiers) {
        const name = "imported" in specifier ? nameOf(specifier.imported) : "default";
        imported.set(local.name, { from: node.source.value, name });
      }
    } else if (node.type === "ExportNamedDeclaration") {
      const { declaration, specifiers, start } = node;
      const own = declaration ? declare(declaration, start) : [];
      for (const name of own) exported.set(name, { from: null, name });
      for (const { local, exported: as } of specifiers) {
        exported.set(nameOf(as), { from: node.source?.value ?? null, name: nameOf(local) });
      }
    } else if (node.type === "ExportAllDeclaration" && !node.exported) {
      const from = node.source.value;
      for (const name of moduleAt(beside(file, from)).exported.keys()) exported.set(name, { from, name });
    } else if (isDeclaration(node)) {
      declare(node, node.start);
    }
  }
  return read;
}

function isDeclaration(node: ESTree.Directive | ESTree.Statement | ESTree.Declaration): node is ESTree.Declaration {
  return /^(?:TS(?:Interface|TypeAlias)|Class|Function|Variable)Declaration$/.test(node.type);
}

function nameOf(name: ESTree.ModuleExportName): string {
  return "name" in name ? name.name : name.value;
}

/** The docstring that ends right before a place. */
function docBefore({ source, comments }: Pick<Module, "source" | "comments">, start: number): string {
  const comment = comments.findLast(({ end }) => end <= start);
  if (!comment?.value.startsWith("*") || source.slice(comment.end, start).trim() !== "") return "";
  return comment.value.replaceAll(/^[ \t]*\*+ ?/gm, "").trim();
}

/** The declaration that a name means in a module; null for one of the language or of a package. */
function meant(file: string, name: string): Declared | null {
  const { declared, imported } = moduleAt(file);
  const from = imported.get(name);
  return declared.get(name) ?? (from?.from?.startsWith(".") ? exportOf(beside(file, from.from), from.name) : null);
}

function exportOf(file: string, name: string): Declared {
  const { from, name: own } = moduleAt(file).exported.get(name) ?? { from: null, name };
  const found = from === null ? meant(file, own) : exportOf(beside(file, from), own);
  if (found === null) throw new Error(`${file} exports no ${name}`);
  return found;
}

const beside = (file: string, path: string) => join(dirname(file), path);

/** The exports of an entry, by the names that callers import. */
export function exportsOf(entry: string): ReadonlyMap<string, Declared> {
  return new Map([...moduleAt(entry).exported.keys()].map((name) => [name, exportOf(entry, name)]));
}

export type Part = ESTree.Node & { readonly start: number; readonly end: number };

/** The nodes of a declaration from the outside in. Bodies of functions are left out. */
export function* nodesOf(node: unknown): Generator<Part> {
  if (Array.isArray(node)) for (const one of node) yield* nodesOf(one);
  if (!isNode(node) || node.type === "BlockStatement") return;
  yield node;
  // The type of one member: it is shown in its place.
  if (node.type === "TSIndexedAccessType") return;
  for (const value of Object.values(node)) yield* nodesOf(value);
}

function isNode(value: unknown): value is Part {
  return isRecord(value) && typeof value.type === "string" && typeof value.start === "number";
}

/** Declarations of the sources that a declaration names, in the order of the text. */
export function named({ file, node }: Declared): readonly Declared[] {
  const found = [...nodesOf(node)].flatMap((part) => {
    const id = part.type === "TSTypeReference" ? part.typeName : part.type === "TSInterfaceHeritage" && part.expression;
    return id && id.type === "Identifier" ? (meant(file, id.name) ?? []) : [];
  });
  return [...new Set(found)];
}

/** The source of a part, in one line, without comments, and with the type of a member in the place of its name. */
export function textOf(file: string, { start, end }: { readonly start: number; readonly end: number }): string {
  const text = moduleAt(file)
    .source.slice(start, end)
    .replaceAll(/\/\*.*?\*\//gs, "");
  return text
    .replaceAll(/\b(\w+)\["(\w+)"\]/g, (given, type, name) => memberOf(file, type, name) ?? given)
    .replaceAll(/\breadonly (?=\w+\??:)/g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/([([]) | (?=[)\]])/g, "$1")
    .replaceAll(/,(?=[)}\]])/g, "")
    .trim();
}

function memberOf(file: string, type: string, name: string): string | null {
  const declared = meant(file, type);
  if (declared?.node.type !== "TSInterfaceDeclaration") return null;
  for (const member of declared.node.body.body) {
    const isMeant = member.type === "TSPropertySignature" && sourceOf(declared.file, member.key) === name;
    if (isMeant && member.typeAnnotation) return textOf(declared.file, member.typeAnnotation.typeAnnotation);
  }
  return null;
}

/** The source of a part as it is. */
export function sourceOf(file: string, { start, end }: { readonly start: number; readonly end: number }): string {
  return moduleAt(file).source.slice(start, end);
}

/** The docstring of a member of a declaration. */
export function docOf(file: string, { start }: { readonly start: number }): string {
  return docBefore(moduleAt(file), start);
}
