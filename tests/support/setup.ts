import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { vi } from "vitest";
import { processMachines } from "../../runtime/threads/machines.ts";
import { useEntriesOf } from "../../src/entries.ts";
import { BUNDLED } from "./command.ts";
import "./plain-imports.ts";

// Vitest loads it before each file of tests.

// Tests start a thousand threads. One from the bundle takes half the time of one that strips and links a hundred modules.
// While files are watched, the bundle would be older than they are.
if (process.env.VITEST_MODE === "RUN") useEntriesOf(pathToFileURL(join(BUNDLED, "src/")));

// Sessions of tests come and go: threads of machines are kept for those that follow, as many as a test has at once.
processMachines({ kept: 6 });

// A busy computer needs more than the second that is usual. The settings of Vitest have this for `expect.poll` alone.
const { waitFor } = vi;
vi.waitFor = (check, options = 30_000) => waitFor(check, options);
