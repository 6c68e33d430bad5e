import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

/** A session of three cells, to whose records this SQL was done. */
async function damagedBy(sql: string) {
  const home = join(folderWith(), "home");
  const belay = (...args: string[]) => belayHere(args, { home });
  await belay("exec", "-e", "1 + 1", "-e", "let n = 42", "-e", "n", "-s", "work");
  const database = new DatabaseSync(join(home, "belay.db"));
  database.exec(sql);
  database.close();
  return belay;
}

/** The record that the second cell ended with. */
const SECOND_END = "UPDATE journal SET content = '{}' WHERE seq = 4";

test("show tells what can be read of a damaged session, names the damaged record, and fails", async () => {
  const belay = await damagedBy(SECOND_END);
  const page = await belay("show", "work");
  expect(page.code).toBe(1);
  expect(page.stdout).toMatch(
    /^work {2}idle\n.* 1 {2}cell {2}ok .*1 \+ 1\n {2}2 {2}cell {2}unfinished .*let n = 42\n {2}3 {2}cell {2}ok /s,
  );
  expect(page.stderr).toMatch(
    /^error: record 4 of session \w{26} is missing or damaged\. Only what can be read is shown \(store_corrupt\)\nsuggestion: .*belay doctor/,
  );
  expect(await belay("show", "work", "--exec", "3")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("result\n42\n"),
  });
});

test("--json has what can be read beside the error", async () => {
  const belay = await damagedBy(SECOND_END);
  const { code, stdout, stderr } = await belay("show", "work", "--json");
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  const { session, ...failure } = JSON.parse(stdout);
  expect(failure).toMatchObject({ success: false, error_code: "store_corrupt" });
  expect(session).toMatchObject({
    damaged: [`record 4 of session ${session.id} is missing or damaged`],
    execs: [{ status: "ok" }, { status: "unfinished" }, { status: "ok", result_json: 42 }],
  });
});

test("an exec whose start is damaged is left out", async () => {
  const belay = await damagedBy("DELETE FROM journal WHERE seq = 1");
  const { session } = JSON.parse((await belay("show", "work", "--json")).stdout);
  expect(session.execs.map(({ input }: { input: string }) => input)).toEqual(["let n = 42", "n"]);
});
