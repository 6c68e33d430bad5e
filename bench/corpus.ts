import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Context } from "../src/context/context.ts";
import { load } from "../src/context/load/load.ts";
import { size } from "./size.ts";

/** Text files in a temporary folder, the same for the same lockfile. Disposing it removes the folder. */
export interface Corpus extends Disposable {
  /** Absolute; holds the files and nothing else. */
  readonly folder: string;
  /** Relative to `folder`. */
  readonly files: readonly string[];
  /** Bytes of all files. */
  readonly bytes: number;
  readonly context: Context;
  /** A new empty folder beside the corpus, removed with it. */
  scratch(): string;
}

const MB = 1024 * 1024;
/** All packages have 60,000 files, which take a second to list. */
const SOURCE = fileURLToPath(new URL(size("../node_modules", "../node_modules/undici"), import.meta.url));
const TEXT_FILE = /\.(?:[cm]?[jt]s|md|json)$/;
/** Keeps one bundle, or one package, from making up the corpus. */
const MOST_FILE_BYTES = MB / 2;
const MOST_PACKAGE_BYTES = MB;
/** What makes a backtracking engine try 2^40 ways for `(a+)+$`. Sources seldom hold it; encoded data does. */
const PLANTED = { name: "planted.txt", text: `${"a".repeat(40)}b\n` };

/** For a large corpus: a context has 10,000 files at most, so small ones are left out. */
const LARGE = { from: 20 * MB, leastFile: 2000, mostFile: MB, mostPackage: 4 * MB };

/**
 * Copies sources and documents of the installed packages, in sorted order, as long as they fit into `bytes`; one line is planted.
 *
 * @param other text that is put in, in a file of its own
 */
export async function openCorpus(bytes: number, other = ""): Promise<Corpus> {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "belay-bench-")));
  const remove = () => rmSync(top, { recursive: true, force: true });
  // Also when a signal ends the process.
  process.once("exit", remove);
  const folder = join(top, "corpus");
  const files: string[] = [];
  const isLarge = bytes >= LARGE.from;
  const [leastFile, mostFile, mostPackage] = isLarge
    ? [LARGE.leastFile, LARGE.mostFile, LARGE.mostPackage]
    : [0, MOST_FILE_BYTES, MOST_PACKAGE_BYTES];
  let total = PLANTED.text.length + Buffer.byteLength(other);
  const perPackage = new Map<string, number>();
  for (const relative of textFiles()) {
    const fileBytes = statSync(join(SOURCE, relative)).size;
    const owner = packageOf(relative);
    const ownerBytes = (perPackage.get(owner) ?? 0) + fileBytes;
    if (fileBytes < leastFile || fileBytes > mostFile || ownerBytes > mostPackage || total + fileBytes > bytes)
      continue;
    perPackage.set(owner, ownerBytes);
    total += fileBytes;
    mkdirSync(dirname(join(folder, relative)), { recursive: true });
    copyFileSync(join(SOURCE, relative), join(folder, relative));
    files.push(relative);
  }
  writeFileSync(join(folder, PLANTED.name), PLANTED.text);
  files.push(PLANTED.name);
  if (other !== "") {
    writeFileSync(join(folder, "other.txt"), other);
    files.push("other.txt");
  }
  const context = await load({ kind: "path", path: folder }, { roots: [folder], cwd: folder });
  return {
    folder,
    files,
    bytes: total,
    context,
    scratch: () => mkdtempSync(join(top, "scratch-")),
    [Symbol.dispose]() {
      process.off("exit", remove);
      remove();
    },
  };
}

/** Folders that begin with a dot hold caches, which differ from run to run. */
function textFiles(): string[] {
  return readdirSync(SOURCE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT_FILE.test(entry.name))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(SOURCE.length + 1)
        .replaceAll(sep, "/"),
    )
    .filter((relative) => !relative.startsWith("."))
    .sort();
}

function packageOf(relative: string): string {
  const [first = "", second = ""] = relative.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}
