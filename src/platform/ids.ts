import { inLine } from "./visible.ts";

/** Characters of an id that people read and type. An id begins with its time, so the ends of two ids differ most. */
const SHOWN = 8;

/** The end of an id, as lists show it and commands take it: `K1MS49P3`. */
export function idEnd(id: string): string {
  return id.slice(-SHOWN);
}

/** A session for people: its name, or the end of its id. Another user's row may have any text as its name. */
export function displayName({ id, name }: { readonly id: string; readonly name: string | null }): string {
  return inLine(name ?? idEnd(id));
}

/** The sources of a context by their last names: `docs`, `docs +2`. */
export function sourcesOf([first = "", ...more]: readonly string[]): string {
  const name = first.split(/[/\\]/).findLast((part) => part !== "") ?? first;
  return more.length > 0 ? `${name} +${more.length}` : name;
}
