/** Opens something when it is needed first. What was wrong may have been corrected by the next call. */
export function openedOnce<T>(open: () => Promise<T>) {
  let opening: Promise<T> | undefined;
  return {
    /** undefined: nothing has needed it, or it could not be opened. */
    begun: () => opening,
    opened(): Promise<T> {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
  };
}
