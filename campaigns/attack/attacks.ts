import type { Attack, SetUp } from "./attack.ts";
import { BY_TEST } from "./by-test.ts";
import { CASES } from "./cases.ts";
import { CELL_ATTACKS } from "./cells.ts";
import { FILES } from "./files.ts";
import { guestAttack } from "./guest.ts";
import { HOSTS } from "./hosts.ts";
import { STORES } from "./stores.ts";

const SET_UPS: Readonly<Record<string, SetUp>> = { ...FILES, ...STORES, ...HOSTS };

/** Listed cases that neither a set-up nor a test does; none is the aim. */
export const UNDONE = CASES.map(({ id }) => id).filter((id) => !isDone(id));

/** Attacks that this campaign does itself: listed cases in their order, then cells of Belay's own. */
export const ATTACKS: readonly Attack[] = [
  ...CASES.flatMap((one): Attack[] => {
    const setUp = SET_UPS[one.id];
    if (setUp) {
      const run = async (...[stage]: Parameters<SetUp>) => {
        await setUp(stage);
        return null;
      };
      return [{ ...one, run }];
    }
    return one.kind === "guest" && !(one.id in BY_TEST) ? [guestAttack(one)] : [];
  }),
  ...CELL_ATTACKS,
];

function isDone(id: string): boolean {
  const isGuest = CASES.some((one) => one.id === id && one.kind === "guest");
  return isGuest || id in SET_UPS || id in BY_TEST;
}
