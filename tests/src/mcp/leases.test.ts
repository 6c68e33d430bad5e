import { expect, test } from "vitest";
import { folderSession } from "../../../src/mcp/session-name.ts";
import { heldClock, openPair, project } from "./pair.ts";

test("a second server of a folder takes another name and says so; a third finds the first name free again", async () => {
  const of = project();
  const base = folderSession(of.folder);
  const first = await openPair(of);
  await first.call("rlm_load", { path: of.folder });
  // Time passes at once: the first server will not leave.
  const { clock } = heldClock();
  let now = 0;
  const hurried = {
    ...clock,
    monotonic: () => now,
    after(ms: number, run: () => void) {
      now += ms;
      setImmediate(run);
      return () => {};
    },
  };
  const second = await openPair(of, { clock: hurried, limits: {} });
  const warning = `session_shared: ${base} is open in process ${process.pid}; this is ${base}~2`;
  expect(await second.call("rlm_status")).toMatchObject({ session: `${base}~2`, context: null, warnings: [warning] });
  expect(await second.call("rlm_load", { path: of.folder })).toMatchObject({ success: true, warnings: [warning] });
  await first.close();
  const third = await openPair(of);
  expect(await third.call("rlm_status")).toMatchObject({ session: base, context: { document_count: 2 } });
  expect(await third.call("rlm_status")).not.toHaveProperty("warnings");
});

test("a server that is started while its predecessor leaves gets its name", async () => {
  const of = project();
  const first = await openPair(of);
  await first.call("rlm_load", { path: of.folder });
  const second = await openPair(of);
  const found = second.call("rlm_status");
  await first.close();
  expect(await found).toMatchObject({ session: folderSession(of.folder), context: { document_count: 2 } });
});
