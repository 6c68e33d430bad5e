import { idEnd } from "./ids.ts";
import { inLine } from "./visible.ts";

// The page of `belay view` has this file too, so nothing of Node is imported here. There the browser knows the system.
const HERE = globalThis.process?.platform ?? (navigator.userAgent.includes("Windows") ? "win32" : "linux");

/**
 * A word for a shell. Line feeds and characters that steer or hide are escapes, which bash and zsh read. On Windows it is a word for
 * PowerShell, and if it needs neither escapes nor `$`, one for cmd too.
 */
export function shellWord(text: string, platform = HERE): string {
  if (platform === "win32") return powerShellWord(text);
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (inLine(text) === text) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = inLine(text.replaceAll(/[\\']/g, "\\$&"));
  return `$'${escaped.replaceAll(/\\u\{(\w+)\}/g, (_all, code: string) => `\\U${code.padStart(8, "0")}`)}'`;
}

/** Marks that PowerShell reads as `"`. */
const DOUBLE = /["\u201c-\u201e]/;
const SINGLE = /['\u2018-\u201b]/g;

function powerShellWord(text: string): string {
  // PowerShell makes two words of `-a.b`.
  if (/^[\w+=:./\\-][\w@+=:./\\-]*$/.test(text) && !/^-\w.*[.:]/.test(text)) return text;
  if (inLine(text) !== text) return `"${Array.from(text, powerShellEscape).join("")}"`;
  if (/[`$]/.test(text) || DOUBLE.test(text)) return `'${text.replaceAll(SINGLE, "$&$&")}'`;
  // Before the last mark a backslash would be read as a part of it.
  return `"${text.replace(/\\+$/, "$&$&")}"`;
}

function powerShellEscape(character: string): string {
  if (inLine(character) === character)
    return DOUBLE.test(character) || /[`$]/.test(character) ? `\`${character}` : character;
  return `\`u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** The line that makes a folder and those above it. */
export function folderLine(path: string, platform = HERE): string {
  return platform === "win32" ? `mkdir ${shellWord(path, platform)}` : `mkdir -p ${shellWord(path, platform)}`;
}

/** One line that runs these in turn. Windows PowerShell has no `&&`. */
export const inTurn = (lines: readonly string[], platform = HERE): string =>
  lines.join(platform === "win32" ? "; " : " && ");

/** The line that sets a variable for later lines of the same shell. @param value null: a random token */
export function variableLine(name: string, value: string | null, platform = HERE): string {
  if (platform !== "win32") {
    return `export ${name}=${value === null ? "$(openssl rand -hex 24)" : shellWord(value, platform)}`;
  }
  if (value === null) return `$env:${name} = node -p "crypto.randomBytes(24).toString('hex')"`;
  const word = powerShellWord(value);
  return `$env:${name} = ${/^["']/.test(word) ? word : `"${word}"`}`;
}

/**
 * The name of a session in a line to type. Another user's row may have a name that reads as a flag, a job or a checkpoint: then
 * it is called by its id.
 */
export function typedName({ id, name }: { readonly id: string; readonly name: string | null }): string {
  const isRead = name !== null && /^[^-@/][^@/]*$/s.test(name);
  return isRead ? name : ([idEnd(id), id].find((word) => !word.startsWith("-")) ?? "SESSION");
}

/** The line that saves what an address leads to, and the file that it makes; null: the path is not an address. */
export function savedAs(path: string, platform = HERE): { readonly line: string; readonly name: string } | null {
  if (!/^https?:\/\//i.test(path)) return null;
  const steps =
    URL.parse(path)
      ?.pathname.split("/")
      .filter((step) => step !== "") ?? [];
  const name = steps.at(-1) ?? "page.html";
  // In Windows PowerShell `curl` is another program.
  const curl = platform === "win32" ? "curl.exe" : "curl";
  return { line: `${curl} -fL ${shellWord(path, platform)} -o ${shellWord(name, platform)}`, name };
}
