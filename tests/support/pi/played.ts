import { type TestContext, test } from "vitest";
import type { PiLine } from "./process.ts";

/** Plays a scene in each of these lines of Pi, beside the other scenes of its file. */
export function played(
  lines: readonly PiLine[],
  title: string,
  scene: (line: PiLine, context: TestContext) => Promise<void>,
): void {
  test.concurrent.for(lines)(`Pi $version: ${title}`, { timeout: 240_000 }, scene);
}
