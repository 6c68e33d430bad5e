/** Characters of an id that people read and type. An id begins with its time, so the ends of two ids differ most. */
const SHOWN = 8;

/** The end of an id, as lists show it and commands take it: `K1MS49P3`. */
export function idEnd(id: string): string {
  return id.slice(-SHOWN);
}

/** What a session is called: its name, or the end of its id. */
export function displayName({ id, name }: { readonly id: string; readonly name: string | null }): string {
  return name ?? idEnd(id);
}
