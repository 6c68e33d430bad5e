import { expect, test } from "vitest";
import { boundFor, CASES, peakOf } from "../../campaigns/attack/memory.ts";
import { COMMAND } from "../support/command.ts";

test.runIf(process.platform === "linux")(
  "a cell that fills a limit of 64 MB costs no more than its bound",
  async () => {
    const names = ["a regular expression", "bytes that stay"];
    const peaks = await Promise.all(names.map((name) => peakOf(COMMAND, CASES[name]?.(64) ?? "", 64)));
    expect(peaks.map(({ end }) => end)).toEqual(["memory_limit_exceeded", "ok"]);
    for (const { mb } of peaks) expect(mb).toBeLessThan(boundFor(64));
  },
);
