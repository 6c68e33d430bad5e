import { copyFile, glob, mkdir } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { type Plugin, type RolldownOutput, rolldown } from "rolldown";
import packageJson from "../package.json" with { type: "json" };
import { ENTRIES as STARTED } from "../src/entries.ts";
import { pageSource } from "../src/view/page-source.ts";
import { compileEarly } from "./eager.ts";
import { mustRun, ROOT } from "./process.ts";

/** What is started or imported by its own file: everything else becomes chunks of these. */
export const ENTRIES: readonly string[] = ["index", "tools/open-tools", "runs/open-runs", "pi/index", ...STARTED].map(
  (entry) => `src/${entry}`,
);

/**
 * Writes the entries to a folder as JavaScript that starts fast: some tens of files instead of some hundreds.
 * Each entry, and what a module reads from beside itself, has the place there that it has in the checkout. Answers the
 * modules that it consists of, by their paths.
 */
export async function bundle(folder: string, entries: readonly string[]): Promise<readonly string[]> {
  const isAlone = (entry: string) => ALONE.some((part) => part.includes(entry));
  const parts = [
    entries.filter((entry) => !isAlone(entry)),
    ...ALONE.map((part) => part.filter((entry) => entries.includes(entry))).filter((part) => part.length > 0),
  ];
  const outputs: RolldownOutput["output"][] = [];
  for (const part of parts) outputs.push(await bundled(folder, part));
  await copyGuestFiles(folder);
  await mustRun(process.execPath, [join(ROOT, "scripts/fresh-guest.ts"), folder], { cwd: ROOT });
  await compileEarly(folder);
  return [...new Set(outputs.flat().flatMap((file) => (file.type === "chunk" ? file.moduleIds : [])))];
}

/** Threads and processes that share no file with others: they load what they need and no more. */
const ALONE: readonly (readonly string[])[] = [
  ["src/machine-thread-entry"],
  ["src/context/find/thread-entry"],
  ["src/context/search/thread-entry"],
  ["src/models/agents/keeper-entry"],
  ["src/models/tasks/thread-entry"],
  ["src/store/sqlite/thread-entry"],
  ["src/documents/child-entry", "src/documents/guard-entry"],
  ["tests/support/async-thread-entry"],
  ["tests/support/older-thread-entry"],
];

/** Packages that are part of the files: to find a file takes longer than to run it, and of some a tenth is used. */
const SMALL = [
  "acorn",
  "diff",
  "eventemitter3",
  "htmlparser2",
  "ignore",
  "minisearch",
  "p-queue",
  "p-timeout",
  "quickjs-wasi",
  "ulid",
  "valibot",
  "yauzl",
];

/** Modules that help and the list of tools need, of rooms whose other modules they do not. */
export const LIGHT: readonly string[] = [
  "context/large-note",
  "models/schema/compare",
  "models/schema/pointer",
  "session/empty-envelope",
  "session/session-name",
  "store/server-packages",
  "store/store-place",
];

/**
 * Modules that are loaded together with all that they import: a few large files load sooner than a hundred small ones. `shared` has
 * those that help and the list of tools need, and `cells` those of `belay exec` that nothing before it has.
 */
const TOGETHER = [
  // The command looks at the version of Node before it imports anything that an old one cannot link.
  { name: "guard", test: /\/src\/(cli\/node-version|platform\/sqlite-warning)\.ts$/, priority: 8 },
  { name: "first", test: /\/src\/cli\/(startup|run)\.ts$/, priority: 7 },
  { name: "runtime", test: /\/runtime\/index\.ts$/, priority: 6 },
  {
    name: "shared",
    test: new RegExp(
      String.raw`/src/(platform|query|settings)/|/flags/values|/builtins/|/(?:${LIGHT.join("|")})\.ts|usingCtx`,
    ),
    priority: 6,
  },
  { name: "library", test: /\/src\/(session\/)?index\.ts$/, priority: 5 },
  { name: "commands", test: /\/src\/cli\/commands\/index\.ts$/, priority: 4 },
  { name: "sqlite", test: /\/src\/store\/sqlite\/requests\.ts$/, priority: 3 },
  { name: "cells", test: /\/src\/cli\/running\/exec\.ts$/, priority: 2 },
];

/**
 * Code that three readers of documents or more share is one file, which takes less time to load than ten. The guard stays by itself: it runs
 * before any of it.
 */
const OF_READERS = [
  { name: "guard", test: /\/guard-entry\.ts$/, priority: 1 },
  { name: "of-readers", test: /\/(?:src\/context|node_modules)\//, minShareCount: 3 },
];

async function bundled(folder: string, entries: readonly string[]): Promise<RolldownOutput["output"]> {
  const isAlone = ALONE.some((part) => part.includes(entries[0] ?? ""));
  const isReaders = entries.includes("src/documents/child-entry");
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(entries.map((entry) => [entry, join(ROOT, `${entry}.ts`)])),
    platform: "node",
    // The oldest that package.json admits: it has no `using`.
    transform: { target: "node22.19" },
    external: (id) => isBuiltin(id) || id.endsWith(SELF) || (isInstalled(id) && !SMALL.includes(id)),
    plugins: [builtPage, ownPlaces, plainBuiltins, ...(isAlone ? [lateCrypto] : [])],
  });
  const { output } = await build.write({
    dir: folder,
    codeSplitting: isReaders ? { groups: OF_READERS } : isAlone || { groups: TOGETHER },
    format: "esm",
    // V8 keeps a file of ASCII with a byte for each character, and Node finds what it has kept of it in less time.
    charset: "ascii",
    // Types have those that users read.
    comments: { jsdoc: false, annotation: true, legal: true },
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
  });
  await build.close();
  if (!isAlone) refuseSharedThreads(output);
  return output;
}

/** Whoever imports a part of a chunk runs all of it: what a thread shares with others must not lie in the chunk of its entry. */
function refuseSharedThreads(output: RolldownOutput["output"]): void {
  const chunks = output.filter((file) => file.type === "chunk");
  const threads = chunks.filter(({ facadeModuleId }) => /(?:thread|child)-entry\.ts$/.test(facadeModuleId ?? ""));
  for (const { fileName, exports } of threads) {
    const importer = chunks.find(({ imports }) => imports.includes(fileName));
    if (importer)
      throw new Error(`${importer.fileName} takes ${exports.join(", ")} from ${fileName}, which starts a thread`);
  }
}

/** A module's own URL stays what it would be by itself, although it is now a part of another file. */
const ownPlaces: Plugin = {
  name: "own-places",
  transform(code, id) {
    if (!code.includes(OWN_URL)) return null;
    const place = relative(ROOT, id).replace(/\.ts$/, ".js");
    return { code: code.replaceAll(OWN_URL, `new URL(${JSON.stringify(place)}, ${FOLDER}).href`), map: null };
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(FOLDER)) return null;
    const up = relative(dirname(fileName), ".") || ".";
    // A bundler of a program that has this as a part may take the address away: the program is told so when it opens a session.
    return { code: code.replaceAll(FOLDER, `new URL("${up}/", ${OWN_URL} ?? "file:///bundled/")`), map: null };
  },
};

/** An import of a module of Node's calls all its getters, which load much of Node that nothing here needs. */
const plainBuiltins: Plugin = {
  name: "plain-builtins",
  renderChunk: (code) =>
    code.replace(/^import (?:(\S+?)(?:, )?)?(\{.*\})? from ("node:.+");$/gm, (_, all = "", names = "", module) => {
      const parts = [all, names.replaceAll(" as ", ": ")].filter((part) => part !== "");
      return parts.map((part) => `const ${part} = process.getBuiltinModule(${module});`).join(" ");
    }),
};

/** Threads load `node:crypto`, which takes 3 ms, when they call its functions: a short cell needs none. */
const lateCrypto: Plugin = {
  name: "late-crypto",
  renderChunk: (code) =>
    code.replace(/^const \{(.*)\} = (process\.getBuiltinModule\("node:crypto"\));$/gm, (_, names: string, module) => {
      const [...parts] = names.matchAll(/(\w+)(?:: (\S+?))?(?:,| $)/g);
      return parts.map(([, name, own = name]) => `const ${own} = (...given) => ${module}.${name}(...given);`).join(" ");
    }),
};

/** The page of `belay view` is built with the bundle, which has it as two texts. */
const builtPage: Plugin = {
  name: "built-page",
  async load(id) {
    if (relative(ROOT, id) !== join("src", "view", "page-source.ts")) return null;
    const built = `const built = ${JSON.stringify(await pageSource())};\n`;
    return `${built}export const pageSource = async () => built;\nexport const pageStyle = async () => built.style;`;
  },
};

/** A package that npm installs beside the bundle, or that a host provides. Other packages become part of the bundle. */
function isInstalled(id: string): boolean {
  return INSTALLED.some((name) => id === name || id.startsWith(`${name}/`));
}

const INSTALLED = Object.keys({ ...packageJson.dependencies, ...packageJson.peerDependencies });

/** A program that bundles others has this file beside it, not in it. */
const SELF = "/scripts/bundle.ts";

const OWN_URL = "import.meta.url";
/** Stands for the bundle's folder until it is known how deep in it the code will be. */
const FOLDER = "__folder_of_the_bundle__";

/** Guest code is data of the module beside it: it is read at run time, never compiled. */
async function copyGuestFiles(folder: string): Promise<void> {
  for await (const file of glob("{runtime,builtins,src}/**/*.guest.js", { cwd: ROOT })) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(folder, file));
  }
}
