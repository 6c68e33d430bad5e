import { Client } from "pg";
import { readServerUrl } from "../../../src/store/store-place.ts";

export interface ServerSql extends AsyncDisposable {
  /** `STORE` and `QUEUE` stand for the schemas of the store and of its queue; a table without one is the store's. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/** Asks the server of this URL. */
export async function openSql(url: string): Promise<ServerSql> {
  const { connectionString, schema } = readServerUrl(url);
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(`SET search_path = ${schema}`);
  const named = (text: string) => text.replaceAll("QUEUE", `${schema}_queue`).replaceAll("STORE", schema);
  return {
    query: async (text, values) => (await client.query(named(text), values?.slice())).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** Asks it one thing. */
export async function askServer(url: string, text: string): ReturnType<ServerSql["query"]> {
  await using server = await openSql(url);
  return await server.query(text);
}
