import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Attack } from "../campaigns/attack/attack.ts";
import { ATTACKS, UNDONE } from "../campaigns/attack/attacks.ts";
import { BY_TEST } from "../campaigns/attack/by-test.ts";
import { CASES } from "../campaigns/attack/cases.ts";
import { runAttack } from "../campaigns/attack/run.ts";
import { CANARY, KEY_VARIABLE } from "../campaigns/attack/stage.ts";
import { ROOT } from "../scripts/process.ts";

const MB = 2 ** 20;

/** They take half a second and more: `npm run campaign -- attack` does them too. */
const SLOW: ReadonlySet<string> = new Set([
  "BRG-11",
  "BRG-27",
  "BRG-30",
  "BUD-05",
  "BUD-08",
  "BUD-13",
  "CPU-02",
  "CPU-05",
  "CPU-06",
  "CPU-07",
  "CPU-09",
  "CPU-10",
  "CPU-11",
  "CPU-14",
  "CPU-20",
  "CPU-21",
  "CPU-23",
  "CPU-25",
  "CPU-32",
  "CPU-35",
  "DAT-14",
  "DAT-16",
  "ESC-04",
  "ESC-13",
  "ESC-14",
  "JRN-08",
  "LIF-04",
  "LIF-05",
  "LIF-07",
  "MEM-05",
  "MEM-12",
  "MEM-13",
  "MEM-16",
  "MEM-17",
  "OUT-02",
  "OUT-08",
  "SNP-15",
  "jobs: a flood of microtasks",
  "memory: a full heap that goes on in catch",
  "parser: 20,000 declarations",
  "parser: a chain of 20,000 operators",
  "parser: nested brackets in the cell",
  "parser: nested functions in the cell",
  "parser: TypeScript that its parser reads in exponential time",
  "result: a proxy that lies about its length",
  "result: a proxy with endless keys",
  "result: a thenable of thenables",
  "thrown: a prototype chain of proxies",
  "MEM-15",
]);

/** What other tests left in this process is not the attack's memory, and their work may be why something is late. */
const BOUNDS = { limitMs: 300, patientMs: 20_000, memoryMb: 32, times: 10, hostBytes: Number.POSITIVE_INFINITY };

const FAST = ATTACKS.filter(({ id }) => !SLOW.has(id));

test.each(FAST.map((attack): [string, Attack] => [`${attack.id} ${attack.title}`, attack]))(
  "%s",
  async (_name, attack) => {
    vi.stubEnv(KEY_VARIABLE, CANARY);
    expect(await runAttack(attack, BOUNDS)).toMatchObject({ fell: [] });
  },
);

test("each listed case is done by a set-up, a cell or a test that there is", () => {
  expect(UNDONE).toEqual([]);
  const ids = ATTACKS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining([...SLOW]));
  const listed = CASES.map(({ id }) => id);
  expect([...ids, ...Object.keys(BY_TEST)]).toEqual(expect.arrayContaining(listed));
  for (const [file, title] of Object.values(BY_TEST)) {
    expect(readFileSync(join(ROOT, file), "utf8"), file).toContain(title);
  }
});

test("an attack that ends otherwise, prints a secret or spoils the next cell has fallen", async () => {
  const title = "";
  const attack = { id: "X", class: "x", title, run: async () => null };
  const spoiled: Attack = {
    ...attack,
    async run(stage) {
      const session = await stage.open();
      await stage.exec(session, `print(${JSON.stringify(CANARY)}, "node:internal")`);
      await session.close();
      return session;
    },
  };
  const { fell } = await runAttack(spoiled, BOUNDS);
  expect(fell).toEqual([
    "the session is closed",
    "what came out names a place of the host: node:internal",
    "what came out has a secret in it",
  ]);
  const large: Attack = {
    ...attack,
    async run(stage) {
      await stage.attempt(() => Buffer.alloc(200 * MB, 1).length);
      throw new Error("otherwise");
    },
  };
  const { fell: reasons } = await runAttack(large, { ...BOUNDS, memoryMb: 16, hostBytes: 0 });
  expect(reasons).toEqual(["otherwise", expect.stringMatching(/^took /)]);
});
