import { hasCode } from "../../runtime/index.ts";
import type { DamagedRow } from "./port.ts";

/** The rows that can be read, and those that cannot. */
export interface ReadablePart<Found> {
  readonly found: Found;
  readonly damaged: readonly DamagedRow[];
}

/**
 * Reads rows without those that are damaged. They are looked for only once the reading was refused because of one.
 * @param read takes the ids of rows that it leaves out
 */
export async function readablePart<Found>(
  read: (without: readonly string[]) => Promise<Found>,
  damagedRows: () => Promise<readonly DamagedRow[]>,
): Promise<ReadablePart<Found>> {
  try {
    return { found: await read([]), damaged: [] };
  } catch (error) {
    if (!hasCode(error, "store_corrupt")) throw error;
    const damaged = await damagedRows();
    if (damaged.length === 0) throw error;
    return { found: await read(damaged.map(({ id }) => id)), damaged };
  }
}
