import { expect, onTestFinished, test } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import { FailedStatement, storeError } from "../../../../src/store/failure.ts";
import { connect } from "../../../../src/store/postgres/connection.ts";
import { addUses } from "../../../../src/store/sql/contexts.ts";
import { list, oneOf, POSTGRES, packed, rendered, SQLITE, spelled, sql } from "../../../../src/store/sql/sql.ts";
import { openDatabase } from "../../../../src/store/sqlite/open-database.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";

const asked = (hashes: readonly string[]) => sql`INSERT INTO t (${list([1, null])}) SELECT ${packed("text")}
  WHERE ${spelled(sql`a`, sql`b = ${2}`)} AND hash ${oneOf(hashes)}`;

test("each database gets its own words, with the values in their places", () => {
  expect(rendered(asked(["x", "y"]), SQLITE)).toEqual({
    text: "INSERT INTO t (?, ?) SELECT ?\n  WHERE a AND hash IN (SELECT value FROM json_each(?))",
    values: [1, null, "text", '["x","y"]'],
  });
  expect(rendered(asked(["x", "y"]), POSTGRES)).toEqual({
    text: "INSERT INTO t ($1, $2) SELECT $3\n  WHERE b = $4 AND hash = ANY($5)",
    values: [1, null, Buffer.from("text"), 2, ["x", "y"]],
  });
});

test("the text of a statement is the same however many values a list has", () => {
  for (const dialect of [SQLITE, POSTGRES]) {
    const [one, many] = [rendered(asked(["x"]), dialect), rendered(asked(["x", "y", "z"]), dialect)];
    expect(one.text).toBe(many.text);
  }
});

const HASHES = new Set(["a".repeat(64)]);

test("a failed statement of a file has its text, its cause and the generators that asked", async () => {
  const database = openDatabase(null);
  onTestFinished(() => database.close());
  database.exec("DROP TABLE uses");
  const thrown = await database.perform(addUses("S1", HASHES)).catch((error: unknown) => error);
  const error = storeError(thrown, null);
  expect(error).toMatchObject({ code: "store_failed", message: "the store in memory: no such table: uses" });
  expectNamed(error);
});

test.skipIf(NO_POSTGRES)("a failed statement of a server has them too, in a transaction and alone", async () => {
  await using server = await connectedTo(await freshStoreUrl());
  const alone = await server.perform(addUses("S1", HASHES)).catch((error: unknown) => error);
  const within = await server.write((one) => one.perform(addUses("S1", HASHES))).catch((error: unknown) => error);
  for (const error of [alone, within]) {
    expect(error).toMatchObject({
      code: "store_failed",
      message: expect.stringMatching(/^the store on .* does not exist$/),
    });
    expectNamed(error);
  }
});

function expectNamed(error: unknown): void {
  if (!(error instanceof RlmError)) throw new Error("it is not an RlmError");
  const { cause } = error;
  if (!(cause instanceof FailedStatement)) throw new Error("its cause is not the statement");
  expect(cause.message).toMatch(/^a statement failed: INSERT INTO uses/);
  expect(cause.stack).toMatch(/at addUses/);
  expect(cause.cause).toMatchObject({ message: expect.stringContaining("uses") });
}

async function connectedTo(url: string) {
  const server = await connect(url);
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}
