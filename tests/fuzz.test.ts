import { expect, test } from "vitest";
import { fuzz, SURFACES } from "../campaigns/fuzz/fuzz.ts";
import type { OpenSurface } from "../campaigns/fuzz/surface.ts";
import { folderWith } from "./support/tree.ts";

/** Cases of surfaces that are slower than the others. Rows have tests of their own, beside those of the stores. */
const CASES: Readonly<Record<string, number>> = { documents: 4, messages: 10 };
const { rows: _rows, server: _server, ...PLAYED } = SURFACES;

test.each(Object.entries(PLAYED))(
  "%s: whatever comes in, an answer is right or an error has a name",
  async (name, open) => {
    const lines: string[] = [];
    const most = CASES[name] ?? 12;
    const plan = { folder: folderWith(), seed: 5, from: 1, more: (cases: number) => cases < most };
    const found = await fuzz({ ...plan, surfaces: { [name]: open }, say: (line) => lines.push(line) });
    expect(found, lines.join("\n")).toBe(0);
    expect(lines).toEqual([`${name.padEnd(10)} ${most} cases, 0 with a problem`]);
  },
);

test("a surface that cannot be played here is left out by its name", async () => {
  const lines: string[] = [];
  const plan = { folder: folderWith(), seed: 5, from: 1, more: () => true, say: (line: string) => lines.push(line) };
  expect(await fuzz({ ...plan, surfaces: { server: async () => "there is no PostgreSQL" } })).toBe(0);
  expect(lines).toEqual(["server     left out: there is no PostgreSQL"]);
});

test("a problem is told with the words that play its case again", async () => {
  const open: OpenSurface = async () => ({
    play: async (random) => (random() < 0.5 ? "less than a half" : null),
    async [Symbol.asyncDispose]() {},
  });
  const lines: string[] = [];
  const play = (from: number, most: number) =>
    fuzz({
      ...{ surfaces: { broken: open }, folder: folderWith(), seed: 3, from },
      ...{ more: (cases) => cases < most, say: (line) => lines.push(line) },
    });
  expect(await play(1, 20)).toBeGreaterThan(0);
  const told = lines[0]?.match(/^broken --seed 3 --from (\d+): less than a half$/);
  expect(await play(Number(told?.[1]), 1)).toBe(1);
});
