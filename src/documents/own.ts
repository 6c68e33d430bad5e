import { isUtf8 } from "node:buffer";
import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { LIMITS } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { isAlive, send, sendToGroup } from "../platform/processes.ts";
import { programFile, startable } from "../platform/programs.ts";
import { endReading, type ReadOptions } from "./children.ts";
import { growing, oneLine, textTooLarge, Unreadable } from "./growing.ts";
import { extensionOf } from "./kinds.ts";
import { type ReadText, readText, timeFor } from "./messages.ts";

/** The argument that stands for the path of a private copy. */
const COPY = "{}";
const LAST_WORDS = 300;

/** The id of a user's own converter: it changes with its arguments and with the program. */
export function ownReader(argv: readonly string[]): string {
  const [program = ""] = argv;
  const file = programFile(program) ?? program;
  const stats = statSync(file, { throwIfNoEntry: false });
  const id = hash("sha256", JSON.stringify([argv, file, stats?.size ?? null, stats?.mtimeMs ?? null]));
  return `own/1 ${basename(program)} ${id.slice(0, 12)}`;
}

/** Reads an original by a program of the user's own. @throws Unreadable; RlmError `cancelled` */
export async function readByOwn(
  argv: readonly string[],
  name: string,
  bytes: Uint8Array,
  { signal }: ReadOptions,
): Promise<ReadText> {
  const extension = extensionOf(name);
  const copy = `original.${extension}`;
  const output = await withCopy({ [copy]: bytes }, (folder) => {
    const words = argv.map((word) => (word === COPY ? join(folder, copy) : word));
    return run(words, folder, bytes.length, signal);
  });
  const text = growing(LIMITS.contextBytes);
  const pages = output.split("\f");
  if (pages.length > 1 && pages.at(-1)?.trim() === "") pages.pop();
  for (const [at, page] of pages.entries()) {
    if (output.includes("\f")) text.part(`p.${at + 1}`);
    if (page.trim() === "") text.lose("page without text", at + 1);
    text.add(page);
  }
  return readText(name, extension, bytes, text.end());
}

/** The output of the program. It runs in a group of processes, which is ended whole. */
async function run(
  argv: readonly string[],
  cwd: string,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { PATH = "", HOME = "", LANG = "" } = process.env;
  const env = { PATH, HOME, LANG };
  const problem = (said: string) =>
    new Unreadable("own_converter", `cannot be read: ${basename(argv[0] ?? "")} ${said}`);
  const own = start();
  const { pid } = own;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const end = (error: Error) => {
    if (pid !== undefined && own.exitCode === null) sendToGroup(pid, "SIGKILL");
    reject(error);
  };
  using _inTime = endReading(timeFor(bytes), signal, end);
  const pieces: Buffer[] = [];
  let size = 0;
  let said = "";
  own.stdout.on("data", (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size > LIMITS.contextBytes) end(textTooLarge(LIMITS.contextBytes));
  });
  own.stderr.on("data", (piece) => {
    said = `${said}${piece}`.slice(-LAST_WORDS);
  });
  own.on("error", (error) => reject(problem(`cannot be started: ${error.message}`)));
  // Processes that it has started may hold its output open.
  own.on("exit", () => pid !== undefined && send(-pid, "SIGKILL"));
  own.on("close", (code, by) => {
    const output = Buffer.concat(pieces);
    if (code !== 0) reject(problem(`ended with ${by ?? code}: ${oneLine(said.trim())}`));
    else if (!isUtf8(output)) reject(problem("printed what is not UTF-8"));
    else resolve(output.toString("utf8"));
  });
  return await promise;

  function start() {
    try {
      const [program = "", ...words] = startable(argv, env);
      return spawn(program, words, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    } catch (error) {
      throw problem(`cannot be started: ${messageOf(error)}`);
    }
  }
}

/**
 * Private copies lie in folders that name their process, so that those of a killed one can be told.
 */
const PREFIX = "belay-documents-";
let isSwept = false;

/**
 * Works with a copy of an original in a file (0600) in a folder of its own, which is removed
 * afterwards.
 */
export async function withCopy<T>(
  files: Readonly<Record<string, Uint8Array>>,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  if (!isSwept) sweep();
  isSwept = true;
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  try {
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes, { mode: 0o600 });
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the copies that killed processes of this user have left. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^belay-documents-(\d+)-/.exec(name)?.[1];
    const path = join(tmpdir(), name);
    if (pid === undefined || isAlive(Number(pid))) continue;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() && stats.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  }
}
