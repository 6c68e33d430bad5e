import { basename, extname } from "node:path";
import { firstly, RlmError, remedy } from "../../runtime/index.ts";
import { inTurn, shellWord } from "../platform/shell-word.ts";
import { type Reason, SCRIPTED } from "./growing.ts";
import { extensionOf, type FileKind } from "./kinds.ts";

/**
 * The fault of a document that a caller named. `problem` is the predicate of a sentence about it.
 */
export function documentError(given: string, problem: string, reason: Reason, kind: FileKind | null = null): RlmError {
  if (reason === "text_too_large") {
    return new RlmError("context_too_large", `${given} ${problem}`, { suggestion: smaller(given) });
  }
  const message = reason === "left_out" ? `${given} cannot be loaded: ${problem}` : `${given} ${problem}`;
  return new RlmError("document_unreadable", message, {
    suggestion: textCure(given, problem) ?? pageCure(given, problem, kind) ?? cureOf(given, reason, kind),
  });
}

/** The cure for bytes that are no text, by why they are none; null: there is none for this. */
export function textCure(given: string, problem: string): string | null {
  const [, program] = /^compressed by (\w+)/.exec(problem) ?? [];
  if (program !== undefined) return unpackedBy(program, given);
  if (problem.startsWith("packed by ")) return "Unpack the archive with `7z x`, and load that folder.";
  const [, wider] = /^(UTF-32..)/.exec(problem) ?? [];
  if (wider !== undefined) return madeText(`iconv -f ${shellWord(wider)} -t UTF-8`, given);
  const [, wide] = /^(UTF-16..) without a byte order mark$/.exec(problem) ?? [];
  if (wide !== undefined) return `${firstly("nameEncoding", wide.toLowerCase())}.`;
  if (problem === SCRIPTED) return typed("chromium --headless --dump-dom URL > page.html", "page.html");
  if (!problem.startsWith("not ")) return null;
  return `${firstly("nameEncoding", "latin1")}, or ${remedy("readLossily")}.`;
}

/** The cure for a page whose bytes are no text; null: it is none, or its bytes are. */
function pageCure(given: string, problem: string, kind: FileKind | null): string | null {
  if (kind !== "html" || !problem.startsWith("binary ")) return null;
  // PowerShell has no `<`.
  const isCured = problem.startsWith("binary (NUL") && process.platform !== "win32";
  return isCured ? madeText("tr -d '\\000' <", given) : NO_TEXT;
}

export const NO_TEXT = "Pass UTF-8 text in a regular file, or a document of a kind that Belay reads.";

function madeText(line: string, given: string): string {
  const text = `text-${basename(given)}`;
  return typed(`${line} ${shellWord(given)} > ${shellWord(text)}`, text);
}

function unpackedBy(program: string, given: string): string {
  if (given === "stdin") return `Put \`${program} -dc\` before it in the pipe.`;
  const name = basename(given);
  const [, folder] = /^(.+)\.(?:tar\.\w+|tbz2?|txz)$/i.exec(name) ?? [];
  if (folder !== undefined) {
    const lines = [`mkdir ${shellWord(folder)}`, `tar -xf ${shellWord(given)} -C ${shellWord(folder)}`];
    return typed(inTurn(lines), folder);
  }
  const text = name.replace(/\.(?:bz2?|xz)$/i, "");
  const to = text === name ? `${name}.txt` : text;
  return typed(`${program} -dc ${shellWord(given)} > ${shellWord(to)}`, to);
}

function cureOf(given: string, reason: Exclude<Reason, "text_too_large">, kind: FileKind | null): string {
  const extension = extensionOf(given);
  const isPdf = extension === "pdf";
  const stem = given.slice(0, given.length - extname(given).length);
  switch (reason) {
    case "no_text":
      return isPdf ? run("ocrmypdf", given, `${stem}-text.pdf`) : "Load a file that has text: pictures are not read.";
    case "encrypted":
      if (isPdf) return run("qpdf --decrypt --password-file=-", given, `${stem}-open.pdf`);
      return "Save it without a password, and load that.";
    case "damaged":
      return damageCure(given, kind, extension);
    case "old_office": {
      const newer = { xls: "xlsx", xlsb: "xlsx", ppt: "pptx" }[extension] ?? "docx";
      const line = `soffice --headless --convert-to ${newer} ${shellWord(given)}`;
      return typed(line, `${basename(given, extname(given))}.${newer}`);
    }
    case "too_slow":
    case "too_big":
      return `Load a part of it, or ${remedy("ownConverter")}.`;
    case "unpacks_too_much":
    case "left_out":
      return "Unpack what you need, and load that folder.";
    case "needs_package":
      return installed(
        /\.msg\b/i.test(given) || kind === "ole" ? "@kenjiuno/msgreader" : "hyparquet hyparquet-compressors",
      );
    case "which_table":
      return "Name one with --sheet NAME, or --table NAME of a database.";
    case "reader_failed":
      return `Try again. If it fails again, its reader cannot read it, or this user cannot read Belay's own files: ${remedy("ownConverter")}, or install Belay again.`;
    case "uncopied":
      return "Make room there, or set TMPDIR to another folder.";
    case "own_converter":
      return `${firstly("correctConverter", extension)}.`;
  }
}

const installed = (packages: string) =>
  `Run \`npm install ${packages}\` beside belay-rlm, with -g if that is installed so.`;

/** Extensions of documents whose programs save them whole again. */
const OF_PROGRAMS = new Set(["docx", "pptx", "xlsx", "odt", "ods", "odp", "odg", "epub", "pdf"]);

function damageCure(given: string, kind: FileKind | null, extension: string): string {
  if (kind === "pdf" || OF_PROGRAMS.has(extension)) {
    return "Open it in the program that made it, save it again, and load that.";
  }
  if (kind !== "sqlite") return "Copy or download it again: a part of it is missing or was changed.";
  const whole = "recovered.db";
  return typed(`sqlite3 ${shellWord(given)} .recover | sqlite3 ${whole}`, whole);
}

const run = (program: string, from: string, to: string) => typed(`${program} ${shellWord(from)} ${shellWord(to)}`, to);

/** A line to type that makes another file. */
const typed = (line: string, to: string) => `Run \`${line}\`, ${remedy("thenLoad", shellWord(to))}.`;

function smaller(given: string): string {
  const isDatabase = /^(db|sqlite3?)$/.test(extensionOf(given));
  return isDatabase ? typed(`sqlite3 ${shellWord(given)} "SELECT …" > rows.txt`, "rows.txt") : "Load a part of it.";
}
