import { messageOf } from "../../platform/errors.ts";
import type { DamagedRow } from "../port.ts";

/**
 * Those rows that cannot be read.
 * @param named what messages call the row
 * @param read throws if the row is damaged
 */
export function damagedAmong<Key>(
  keys: Iterable<Key>,
  read: (key: Key) => unknown,
  named: (key: Key) => { readonly id: string; readonly label: string },
): DamagedRow[] {
  const damaged: DamagedRow[] = [];
  for (const key of keys) {
    try {
      read(key);
    } catch (error) {
      const { id, label } = named(key);
      const problem = messageOf(error);
      damaged.push({ id, problem: problem.includes(label) ? problem : `${label}: ${problem}` });
    }
  }
  return damaged;
}
