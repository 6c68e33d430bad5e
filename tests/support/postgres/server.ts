import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { binariesFolder } from "./cluster.ts";

/** Why tests that need a PostgreSQL server are skipped; null: there is one. */
export const NO_POSTGRES: string | null =
  process.env.BELAY_TEST_POSTGRES || binariesFolder() !== null
    ? null
    : `npm has no PostgreSQL for ${process.platform}-${process.arch}: name a server with BELAY_TEST_POSTGRES`;

/** The URL of a store of its own on the server of the run, which is started if this is the first that asks. */
export async function freshStoreUrl(): Promise<string> {
  const url = new URL(process.env.BELAY_TEST_POSTGRES || (await askedFor()));
  url.searchParams.set("schema", `test_${randomBytes(8).toString("hex")}`);
  return url.href;
}

async function askedFor(): Promise<string> {
  const url = await text(connect(inject("postgresPort"), "127.0.0.1"));
  if (!URL.canParse(url)) throw new Error(`the server of the tests did not start: ${url}`);
  return url;
}
