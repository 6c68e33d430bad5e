/**
 * What of a session in memory can go when an exec has ended: the ends before the newest whole image. Nothing can be
 * continued from them any more, and they would fill the memory.
 */
export function openEndGc(): (end: { readonly id: string; readonly isWhole: boolean }) => readonly string[] {
  let ends: string[] = [];
  return ({ id, isWhole }) => {
    const gone = isWhole ? ends : [];
    ends = isWhole ? [id] : [...ends, id];
    return gone;
  };
}
