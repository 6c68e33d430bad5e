import { hash } from "node:crypto";
import { appendFileSync, existsSync, lstatSync, readdirSync } from "node:fs";
import { dirname, join, parse, resolve } from "node:path";
import { firstly, RlmError } from "../../runtime/index.ts";
import { readBoundedFile } from "../platform/bounded-reads.ts";
import { errorCode, messageOf } from "../platform/errors.ts";
import { makeFolder } from "../platform/make-folder.ts";
import { meantBy } from "../platform/nearest.ts";
import { statsOf } from "../platform/paths.ts";
import { shellWord } from "../platform/shell-word.ts";
import { readWorkflow, type WorkflowScript } from "./script.ts";

/** A script that was found by a name or a path. */
export interface FoundWorkflow {
  readonly file: string;
  /** It is the user's, or the user has trusted its text as it is. */
  readonly isTrusted: boolean;
  readonly script: WorkflowScript;
}

/** A workflow in a folder of saved ones. */
export interface SavedWorkflow extends Omit<FoundWorkflow, "script"> {
  readonly name: string;
  /** `project`: another person may have written it. */
  readonly of: "project" | "user";
  /** null if it cannot be read. */
  readonly script: WorkflowScript | null;
  /** Why it cannot be read. */
  readonly problem: string | null;
  /** Files of the same name that do not count, since this one is found first. */
  readonly hides: readonly string[];
}

/** Places in which saved workflows are looked for. */
export interface WorkflowPlaces {
  /** The working directory. */
  readonly cwd: string;
  /** The user's home folder. */
  readonly home: string;
  /** Belay's home folder. */
  readonly belayHome: string;
}

const MOST_BYTES = 256 * 1024;
const TRUSTED_BYTES = 2 ** 20;
/** Scripts of one folder. */
const MOST_FILES = 1000;
const IN_PROJECT = [".belay/workflows", ".claude/workflows"];
const SCRIPT = /^\w[\w.-]*\.(?:js|mjs|ts|mts)$/;

/**
 * Lists saved workflows. Of several with a name the first counts: the user's before the project's,
 * and of a project's the nearest to the working directory.
 */
export function savedWorkflows(places: WorkflowPlaces): readonly SavedWorkflow[] {
  const users = [join(places.belayHome, "workflows"), join(places.home, ".claude", "workflows")];
  const found = [
    ...users.flatMap((folder) => inFolder(folder, "user", places)),
    ...projectFolders(places).flatMap((folder) => inFolder(folder, "project", places)),
  ];
  return found
    .filter(({ name }, at) => found.findIndex((other) => other.name === name) === at)
    .map((first) => {
      const same = found.filter(({ name, file }) => name === first.name && file !== first.file);
      return { ...first, hides: [...new Set(same.map(({ file }) => file))] };
    });
}

/** The saved workflow with this name. @throws RlmError `invalid_argument` */
export function savedWorkflow(places: WorkflowPlaces, name: string): FoundWorkflow {
  const all = savedWorkflows(places);
  const found = all.find((saved) => saved.name === name);
  if (found?.script) return { file: found.file, isTrusted: found.isTrusted, script: found.script };
  const names = all.map((saved) => saved.name);
  const there =
    names.length > 0
      ? `Saved workflows are ${names.join(", ")}.`
      : `None is saved in ${IN_PROJECT.join(" or ")}: name a file, or save one there.`;
  const why = found?.problem ?? `the workflow ${name} is not saved${meantBy(name, names)}`;
  throw new RlmError("invalid_argument", why, { suggestion: there });
}

/** A script by its file, which counts as the project's. @throws RlmError `invalid_argument` */
export function workflowAt(places: WorkflowPlaces, path: string): FoundWorkflow {
  const file = resolve(places.cwd, path);
  const source = sourceOf(file, true);
  return { file, isTrusted: isTrusted(places, source), script: readWorkflow(source, path) };
}

/** Refuses what another person may have written. @throws RlmError `policy_violation` */
export function refuseUntrusted(found: FoundWorkflow): void {
  if (found.isTrusted) return;
  const { file, script } = found;
  throw new RlmError(
    "policy_violation",
    `the workflow ${script.meta.name} came with the project, and you have not trusted its text: ${file}`,
    { suggestion: `Read it: what it asks, your agents do. ${firstly("trustWorkflow", shellWord(file))}.` },
  );
}

/**
 * Notes that the user has read the text of a workflow: from now on it is trusted, wherever it lies.
 * A changed text is not.
 *
 * @throws RlmError `invalid_config` if the list of trusted ones cannot be read
 */
export function trustWorkflow(places: WorkflowPlaces, { file, isTrusted: isDone, script }: FoundWorkflow): void {
  if (isDone) return;
  const list = trustList(places);
  const read = readTrusted(list);
  if (read && "problem" in read) {
    throw new RlmError("invalid_config", `${list} ${read.problem}`, {
      suggestion: "Remove the file: each workflow is then to be trusted again.",
    });
  }
  makeFolder(places.belayHome);
  appendFileSync(list, `${hash("sha256", script.source)} ${JSON.stringify(file)}\n`, { mode: 0o600 });
}

const trustList = ({ belayHome }: WorkflowPlaces) => join(belayHome, "trusted-workflows");

const readTrusted = (list: string) => readBoundedFile(list, { maxBytes: TRUSTED_BYTES, followsLink: false });

function isTrusted(places: WorkflowPlaces, source: string): boolean {
  const read = readTrusted(trustList(places));
  const lines = read && "text" in read ? read.text.split("\n") : [];
  const line = `${hash("sha256", source)} `;
  return lines.some((one) => one.startsWith(line));
}

/**
 * Folders of the project's workflows, from the working directory up to the top of its repository.
 * Without a repository they are those of the working directory alone.
 */
function projectFolders({ cwd }: WorkflowPlaces): string[] {
  const above: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    above.push(folder);
    if (existsSync(join(folder, ".git"))) break;
    if (dirname(folder) === folder) {
      above.splice(1);
      break;
    }
  }
  return above.flatMap((folder) => IN_PROJECT.map((place) => join(folder, place)));
}

function inFolder(folder: string, of: SavedWorkflow["of"], places: WorkflowPlaces): SavedWorkflow[] {
  if (!statsOf(folder)?.isDirectory()) return [];
  const unread = (file: string, problem: string): SavedWorkflow => {
    return { name: parse(file).name, file, of, isTrusted: false, script: null, problem, hides: [] };
  };
  // A link of a project could lead to a folder or file that is the user's alone.
  const link = of === "user" ? null : linkIn(folder);
  if (link !== null) return [unread(folder, `${link} is a symlink, and those of projects are not followed`)];
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => SCRIPT.test(name));
  } catch (error) {
    return [unread(folder, `${folder} cannot be read (${errorCode(error)})`)];
  }
  const read = (name: string): SavedWorkflow => {
    const file = join(folder, name);
    try {
      const source = sourceOf(file, of === "user");
      const script = readWorkflow(source, file);
      const isFine = of === "user" || isTrusted(places, source);
      return { name: script.meta.name, file, of, isTrusted: isFine, script, problem: null, hides: [] };
    } catch (error) {
      return unread(file, messageOf(error));
    }
  };
  const rest = names.length - MOST_FILES;
  const listed = names.toSorted().slice(0, MOST_FILES).map(read);
  return rest > 0 ? [...listed, unread(folder, `${folder} has ${rest} more scripts, which were not read`)] : listed;
}

/** The part of a project's folder that is a symlink: `.claude` or `.claude/workflows`. */
function linkIn(folder: string): string | null {
  const parts = [dirname(folder), folder];
  return parts.find((part) => lstatSync(part).isSymbolicLink()) ?? null;
}

function sourceOf(file: string, followsLink: boolean): string {
  const read = readBoundedFile(file, { maxBytes: MOST_BYTES, followsLink });
  if (read && "text" in read) return read.text;
  throw new RlmError("invalid_argument", `${file} ${read?.problem ?? "does not exist"}`, {
    suggestion: "Name a script, or a saved workflow.",
  });
}
