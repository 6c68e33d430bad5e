import { idEnd } from "./ids.ts";
import { inLine } from "./visible.ts";

/** A word for a shell. Line feeds and characters that steer or hide are escapes, which bash and zsh read. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (inLine(text) === text) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = inLine(text.replaceAll(/[\\']/g, "\\$&"));
  return `$'${escaped.replaceAll(/\\u\{(\w+)\}/g, (_all, code: string) => `\\U${code.padStart(8, "0")}`)}'`;
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
export function savedAs(path: string): { readonly line: string; readonly name: string } | null {
  if (!/^https?:\/\//i.test(path)) return null;
  // The page of `belay view` has this file too, so nothing of Node is imported here.
  const steps =
    URL.parse(path)
      ?.pathname.split("/")
      .filter((step) => step !== "") ?? [];
  const name = steps.at(-1) ?? "page.html";
  return { line: `curl -fL ${shellWord(path)} -o ${shellWord(name)}`, name };
}
