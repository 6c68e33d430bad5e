import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../runtime/index.ts";
import { openFree } from "../../../src/mcp/free-session.ts";
import { folderSession } from "../../../src/mcp/session-name.ts";
import type { Store } from "../../../src/store/port.ts";
import { openPair, project } from "./pair.ts";

/** Time passes at once: whoever holds a name will not leave. */
function hurried(): Clock {
  let now = 0;
  return {
    ...systemClock,
    monotonic: () => now,
    after(ms, run) {
      now += ms;
      setImmediate(run);
      return () => {};
    },
  };
}

test("a second server of a folder takes another name and says so; a third finds the first name free again", async () => {
  const of = project();
  const base = folderSession(of.folder);
  const first = await openPair(of);
  await first.call("rlm_load", { path: of.folder });
  const second = await openPair(of, { clock: hurried() });
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

test("where all names of a folder are held, the store stays as it is and the answer says what helps", async () => {
  const asked: string[] = [];
  const taken: Pick<Store, "find"> = {
    async find(name) {
      asked.push(name);
      return JSON.parse(JSON.stringify({ id: name, name, busy: true, holder: { pid: 7, host: "h" } }));
    },
  };
  const open = () => Promise.reject(new Error("nothing is opened"));
  await expect(openFree(taken, hurried(), "mcp-a", open)).rejects.toMatchObject({
    code: "session_busy",
    suggestion: "Close another client of this folder, or go over to another session with rlm_wait and session: NAME.",
  });
  expect([...new Set(asked)]).toEqual(["mcp-a", ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `mcp-a~${n}`)]);
  // The first is waited for, 3 s in steps of a tenth.
  expect(asked.filter((name) => name === "mcp-a")).toHaveLength(31);
});
