import { expect, test } from "vitest";
import type { Server } from "../../../../src/store/postgres/connection.ts";
import { checkServer, lookAtServer } from "../../../../src/store/postgres/look.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";

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

test.skipIf(NO_POSTGRES !== null)(
  "a server without TLS is named with its own cure, and the client warns of nothing",
  async () => {
    const url = new URL(await freshStoreUrl());
    url.searchParams.set("sslmode", "require");
    const warned: string[] = [];
    const note = ({ message }: Error) => void warned.push(message);
    process.on("warning", note);
    const cure = expect.stringContaining("sslmode=disable");
    await expect(lookAtServer(url.href)).rejects.toMatchObject({ code: "store_failed", suggestion: cure });
    await new Promise(setImmediate);
    process.off("warning", note);
    expect(warned).toEqual([]);
  },
);
