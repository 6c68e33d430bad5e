/**
 * Names the checkpoints that a session in memory can drop when an exec has ended: the ends before the newest whole image.
 * No exec continues from them, and they would fill the memory.
 */
export function openEndGc(): (end: { readonly id: string; readonly isWhole: boolean }) => readonly string[] {
  let ends: string[] = [];
  return ({ id, isWhole }) => {
    const gone = isWhole ? ends : [];
    ends = isWhole ? [id] : [...ends, id];
    return gone;
  };
}
