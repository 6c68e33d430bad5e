import { expect, test, vi } from "vitest";
import { startNamed } from "../../scripts/named.ts";

async function started(...args: string[]) {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const { argv, exitCode } = process;
  const seen: string[][] = [];
  process.argv = ["node", "index.ts", ...args];
  try {
    await startNamed("npm run campaign --", { crash: { about: "kills", start: async () => seen.push(process.argv) } });
    return { seen, code: process.exitCode, said: printed.mock.calls.flat().join("\n") };
  } finally {
    Object.assign(process, { argv, exitCode });
    printed.mockRestore();
  }
}

test("a script gets the arguments that follow its name", async () => {
  expect((await started("crash", "--kills", "3")).seen).toEqual([["node", "index.ts", "--kills", "3"]]);
});

test("no name lists the scripts, an unknown one is refused with them", async () => {
  const list = "usage: npm run campaign -- NAME [OPTIONS]\n  crash       kills";
  expect(await started()).toEqual({ seen: [], code: 0, said: list });
  expect(await started("crush")).toEqual({ seen: [], code: 2, said: `There is no "crush".\n${list}` });
});
