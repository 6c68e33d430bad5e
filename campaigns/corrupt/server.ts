import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { openSql } from "../../tests/support/postgres/sql.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { corruptIn } from "./corruption.ts";
import { type Damaging, type Stored, shown } from "./damages.ts";
import type { Tally } from "./tally.ts";

export interface ServerCorruption extends Required<Pick<Damaging, "flips" | "seed" | "change">> {
  /** Names a schema that is not there yet. */
  readonly url: string;
}

interface Value extends Stored {
  readonly isBlob: boolean;
  readonly place: unknown;
}

/** Changes values in the rows of a store on a server, one at a time, and reads it anew each time. */
export async function corruptServer({ url, flips, seed, change }: ServerCorruption): Promise<Tally> {
  const random = seededRandom(seed);
  await using server = await openSql(url);
  return await corruptIn({
    open: () => openPostgresStore(url, { pid: 1, host: "here", lost() {} }),
    async *damages() {
      const found = await server.query("SELECT tablename FROM pg_tables WHERE schemaname = 'STORE'");
      const tables = found.map(({ tablename }) => String(tablename));
      // The rows of a table that is filled anew are at the same places each time.
      const putBack = (table: string) =>
        server.query(`TRUNCATE ${table}; INSERT INTO ${table} OVERRIDING SYSTEM VALUE TABLE kept_${table}`);
      const values: Value[] = [];
      for (const table of tables) {
        await server.query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
        await putBack(table);
        for (const { place, ...row } of await server.query(`SELECT ctid AS place, * FROM ${table}`)) {
          for (const [column, value] of Object.entries(row)) {
            if (value === null) continue;
            const isBlob = value instanceof Uint8Array;
            values.push({ table, column, place, isBlob, bytes: isBlob ? value : Buffer.from(String(value)) });
          }
        }
      }
      for (let done = 0; done < flips; done += 1) {
        const value = values[Math.floor(random() * values.length)];
        if (!value) throw new Error("the store has no rows");
        const { table, column, place } = value;
        const changed = change(random, value, values);
        const told = `${table}.${column} at ${place} changed to ${shown(changed)}`;
        const sent = changed && !value.isBlob ? Buffer.from(changed).toString() : changed;
        const statement = `UPDATE ${table} SET ${column} = $1 WHERE ctid = $2`;
        // A type or a constraint may refuse it: the row stays as it was.
        yield { name: told, kind: "flip", put: () => server.query(statement, [sent, place]).catch(() => {}) };
        await putBack(table);
      }
    },
  });
}
