import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { TEXT_VERSION } from "../context/text/decode.ts";
import { entryUrl } from "../entries.ts";
import { parseJson } from "../platform/json.ts";

/**
 * Packages of the readers and of what checks their answers. Those of Parquet files and of messages
 * of Outlook are installed by who needs them.
 */
const PACKAGES =
  "unpdf htmlparser2 dingbat-to-unicode yauzl postal-mime ignore valibot hyparquet hyparquet-compressors @kenjiuno/msgreader".split(
    " ",
  );

const PackageSchema = v.object({ version: v.string(), dependencies: v.fallback(v.record(v.string(), v.string()), {}) });

interface Found {
  readonly version: string;
  readonly folders: readonly string[];
}

let found: ReadonlyMap<string, Found> | undefined;

/**
 * The packages, looked up for the first document, so that a package that cannot be read refuses
 * documents and not a load.
 */
const packages = () => {
  found ??= new Map(
    PACKAGES.flatMap((name) => {
      const one = find(name, dirname(fileURLToPath(import.meta.url)), new Set());
      return one ? [[name, one] as const] : [];
    }),
  );
  return found;
};

/** The files that a child runs, where no symlink leads to them. */
export function readerEntries(): { readonly guard: string; readonly reader: string } {
  const file = (entry: Parameters<typeof entryUrl>[0]) => realpathSync(fileURLToPath(entryUrl(entry)));
  return { guard: file("documents/guard-entry"), reader: file("documents/child-entry") };
}

/**
 * Paths that a child may read, as Node's permission model takes them: the readers and their
 * packages.
 */
export function readablePaths(): string[] {
  const documents = dirname(readerEntries().reader);
  const sources = dirname(documents);
  const folders = [...packages().values()].flatMap((one) => one.folders);
  // In a build the readers are chunks.
  const own = [documents, join(sources, "context"), join(sources, "platform"), join(dirname(sources), "chunks")];
  const all = [...own, ...folders];
  // Node 24 does not take a path that comes behind one below it.
  return [...new Set([...folders.flatMap(linksTo), ...all.map((folder) => `${folder}/*`)])];
}

/** The symlinks on the way to a place. Node looks where they lead. */
function linksTo(place: string): string[] {
  const above = dirname(place) === place ? [] : linksTo(dirname(place));
  return lstatSync(place).isSymbolicLink() ? [...above, place] : above;
}

/**
 * Readers: a number, to be raised if the text differs from before, their kinds, and their packages.
 */
const READERS: Readonly<Record<string, readonly [version: number, kinds: string, ...packages: string[]]>> = {
  pdf: [4, "pdf", "unpdf"],
  markup: [3, "html epub", "htmlparser2"],
  office: [7, "docx pptx odt odp odg", "htmlparser2"],
  sheets: [6, "xlsx ods", "htmlparser2"],
  mail: [7, "eml mbox", "postal-mime", "htmlparser2"],
  message: [1, "msg ole", "@kenjiuno/msgreader", "htmlparser2"],
  notebook: [5, "ipynb", "htmlparser2"],
  tables: [2, "sqlite"],
  parquet: [1, "parquet", "hyparquet"],
  archives: [2, "zip tar gz zst"],
  text: [TEXT_VERSION, "text"],
};

/** The id of a kind's reader: `pdf/1 unpdf 1.8.1`. */
export function readerOf(kind: string): string {
  const names = Object.keys(READERS);
  return idOf(names.find((name) => READERS[name]?.[1].split(" ").includes(kind)) ?? "office");
}

/**
 * The ids of all readers: an archive may need any of them, and some versions of Node read no
 * database in one.
 */
export function allReaders(): string {
  return [...Object.keys(READERS).map(idOf), `sqlite ${process.versions.sqlite}`].join(", ");
}

function idOf(name: string): string {
  const [number, , ...used] = READERS[name] ?? [1, ""];
  const versions = used.map((one) => `${one} ${packages().get(one)?.version ?? "not installed"}`);
  return [`${name}/${number}`, ...versions].join(" ");
}

/** The folder of a package and of what it depends on, as Node looks for them. */
function find(name: string, from: string, seen: Set<string>): Found | null {
  const folder = join(from, "node_modules", name);
  if (existsSync(join(folder, "package.json"))) return described(folder, seen);
  return dirname(from) === from ? null : find(name, dirname(from), seen);
}

function described(place: string, seen: Set<string>): Found | null {
  const folder = realpathSync(place);
  const read = v.safeParse(PackageSchema, parseJson(readFileSync(join(folder, "package.json"), "utf8")));
  if (!read.success) return null;
  const { version, dependencies } = read.output;
  if (seen.has(folder)) return { version, folders: [place] };
  seen.add(folder);
  const below = Object.keys(dependencies).flatMap((name) => find(name, folder, seen)?.folders ?? []);
  // It is found at its place, and read where that leads.
  return { version, folders: [place, folder, ...below] };
}
