import { expect, test } from "vitest";
import type { Server } from "../../../../src/store/postgres/connection.ts";
import { checkServer } from "../../../../src/store/postgres/look.ts";

const NAME = "postgres://me@db/belay";

/** A server of these settings, which is asked nothing else. */
function serverWith(settings: object): Server {
  const row = { version_number: 140_000, version: "14.0", path: "belay", commits: "on", ...settings };
  const never = () => {
    throw new Error("not expected");
  };
  const get = async () => row;
  return {
    name: NAME,
    schema: "belay",
    perform: never,
    get,
    all: never,
    run: never,
    write: never,
    read: never,
    close: never,
  };
}

test.for([{}, { path: '"belay"' }, { path: "belay, public" }, { commits: "remote_apply" }])(
  "a server with %j can be used",
  (settings) => checkServer(serverWith(settings)),
);

test.for([
  [{ version_number: 130_020, version: "13.20" }, `${NAME} is PostgreSQL 13.20, and Belay needs 14 or newer`],
  [{ path: '"$user", public' }, 'search_path is "$user", public and not belay'],
  [{ path: "" }, "search_path is empty and not belay"],
  [{ commits: "off" }, `${NAME} does not take the settings of a connection, as poolers do: synchronous_commit is off`],
] as const)("a server with %j is refused by name", async ([settings, problem]) => {
  await expect(checkServer(serverWith(settings))).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining(problem),
  });
});
