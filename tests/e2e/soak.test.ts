import { expect, test } from "vitest";
import { KINDS } from "../../campaigns/soak/kinds.ts";
import { type SoakPlan, soak } from "../../campaigns/soak/soak.ts";
import { folderWith } from "../support/tree.ts";

/** A session that stays takes twice as many. */
const MOST_OBJECTS = 12;
const isLittle = ({ objects }: { readonly objects: number }) => objects <= MOST_OBJECTS;

test("sessions, asks, jobs and calls of a server that are over leave nothing on the heap", async () => {
  const told: string[] = [];
  const say = (line: string) => void told.push(line);
  const plan: Omit<SoakPlan, "kinds" | "folder"> = { rounds: 6, times: () => 4, isLittle, goneMs: 0, say };
  const grownOf = async (kinds: SoakPlan["kinds"]) =>
    (await soak({ ...plan, kinds, folder: folderWith() })).filter((growth) => !isLittle(growth));
  // A look at the heap takes a second. If all kinds together have grown, each is looked at.
  const all = Object.keys(KINDS);
  const grown = (await grownOf([all])).length === 0 ? [] : await grownOf(all.map((kind) => [kind]));
  expect(grown, told.join("\n")).toEqual([]);
}, 180_000);
