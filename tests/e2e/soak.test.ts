import { expect, test } from "vitest";
import { KINDS } from "../../campaigns/soak/kinds.ts";
import { soak } from "../../campaigns/soak/soak.ts";
import { folderWith } from "../support/tree.ts";

/** A session that stays takes twice as many. */
const MOST_OBJECTS = 12;
const isLittle = ({ objects }: { readonly objects: number }) => objects <= MOST_OBJECTS;

test("sessions, asks, jobs and calls of a server that are over leave nothing on the heap", async () => {
  const told: string[] = [];
  const say = (line: string) => void told.push(line);
  const growths = await soak({
    kinds: Object.keys(KINDS),
    rounds: 3,
    times: () => 2,
    isLittle,
    goneMs: 0,
    folder: folderWith(),
    say,
  });
  const grown = growths.filter((growth) => !isLittle(growth));
  expect(grown, told.join("\n")).toEqual([]);
}, 180_000);
