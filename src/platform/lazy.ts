/** Something that is opened when it is first needed. */
interface Lazy<T> {
  /** @returns `undefined` if nothing has needed it yet, or if it could not be opened */
  begun(): Promise<T> | undefined;
  /** Opens it at the first call. After a failure the next call tries again. */
  opened(): Promise<T>;
}

/** Opens something at its first use. */
export function lazy<T>(open: () => Promise<T>): Lazy<T> {
  let opening: Promise<T> | undefined;
  return {
    begun: () => opening,
    opened() {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
  };
}
