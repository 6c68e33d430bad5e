import { existsSync, lstatSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type BoundedFile, readBoundedFile } from "../platform/bounded-file.ts";
import { messageOf } from "../platform/errors.ts";
import { isRecord } from "../platform/json.ts";
import { withRoots } from "./project.ts";
import { checkSettings, invalidConfig, type Settings } from "./settings.ts";

const PROJECT_FILE = "belay.config.json";
const MAX_BYTES = 64 * 1024;

/**
 * The project's file: the nearest from `cwd` upward as far as the top of its repository (the folder with `.git`).
 * Outside a repository only `cwd` counts: a parent folder, such as /tmp, may be anybody's.
 */
export function findProjectFile(cwd: string): string | undefined {
  const found: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, PROJECT_FILE);
    if (lstatSync(path, { throwIfNoEntry: false })) found.push(path);
    if (existsSync(join(folder, ".git"))) return found[0];
    if (dirname(folder) === folder) break;
  }
  const own = join(resolve(cwd), PROJECT_FILE);
  return found[0] === own ? own : undefined;
}

/** Settings of a file that the user wrote; none if there is no file. @throws RlmError `invalid_config` */
export function readUserFile(path: string): Settings {
  return userSettings(readObject(path), path);
}

/** The settings of a user's file. @throws RlmError `invalid_config` */
export function userSettings(given: Readonly<Record<string, unknown>>, path: string): Settings {
  return withRoots(checkSettings(given, `${path}: `), dirname(path));
}

/** The object in a JSON file of the user, empty if there is no file. @throws RlmError `invalid_config` */
export function readObject(path: string): Readonly<Record<string, unknown>> {
  const read = readBoundedFile(path, { maxBytes: MAX_BYTES, followsLink: true });
  return read === undefined ? {} : objectIn(read, path);
}

/**
 * The object in a JSON file that came with a project, empty if there is no file. A link could lead to a file that is the
 * user's alone.
 *
 * @param folder of the project's own that the file is in, which may be no link either
 * @throws RlmError `invalid_config`
 */
export function readProjectObject(path: string, folder?: string): Readonly<Record<string, unknown>> {
  const read = readBoundedFile(path, { maxBytes: MAX_BYTES, followsLink: false });
  if (read === undefined) return {};
  const link = folder !== undefined && isLink(folder) ? folder : isLink(path) ? path : undefined;
  if (link === undefined) return objectIn(read, path);
  const problem = `${link} is a symlink, and a project's file is read through none`;
  throw invalidConfig(problem, "Put the file itself there, or remove the link.");
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function objectIn(read: BoundedFile, path: string): Readonly<Record<string, unknown>> {
  if ("problem" in read)
    throw invalidConfig(`${path} ${read.problem}`, "Make it a file that you can read, or remove it.");
  const { text } = read;
  const value = parsed(text.replace(/^\ufeff/, ""), path);
  if (isRecord(value)) return value;
  throw invalidConfig(`${path} does not hold a JSON object`, `Write { "model": "PROVIDER/ID" }, for example.`);
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The message may quote the file, and a key may stand there.
    const place = /\(line \d+ column \d+\)/.exec(messageOf(cause))?.[0];
    const cure = "Write names and texts in double quotes, without comments and without a comma after the last entry.";
    throw invalidConfig(`${path} is not valid JSON${place ? ` ${place}` : ""}`, cure);
  }
}
