import { LIMITS } from "../../../../runtime/index.ts";
import { misuse } from "../../failure.ts";
import { intervalOf, mayHold, minus, plus } from "../../jobs/money.ts";
import type { Amount, Held, Hold, JobKey, Rate, Settled } from "../../jobs/port.ts";
import { amountColumns, fieldsOfAmount, NOTHING } from "../../rows/jobs.ts";
import { number, type Row } from "../../rows/seal.ts";
import { readRun } from "../../sql/runs.ts";
import type { Database } from "../database.ts";

/** Holds an amount of the run's before a request is sent. */
export function reserve(database: Database, hold: Hold): Held {
  const { run, n, call, attempt, fence, amount } = hold;
  const purse = database.perform(readRun(run));
  const answer = mayHold(purse, amount);
  if (answer !== "held") return answer;
  const kept = "INSERT INTO holds (run, n, call, attempt, fence, usd, tokens, calls) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
  database.run(kept, run, n, call, attempt, fence, ...fieldsOfAmount(amount));
  setSum(database, run, "held", plus(purse.held, amount));
  return "held";
}

/** Keeps the real usage of the request held until the record of its call. */
export function give(database: Database, { run, n, call, attempt }: Omit<Hold, "amount">, spent: Amount): void {
  const key = [run, n, call, attempt] as const;
  const row = database.get("SELECT * FROM holds WHERE run = ? AND n = ? AND call = ? AND attempt = ?", ...key);
  if (!row) return;
  const set = "UPDATE holds SET usd = ?, tokens = ?, calls = ? WHERE run = ? AND n = ? AND call = ? AND attempt = ?";
  database.run(set, ...fieldsOfAmount(spent), ...key);
  setSum(database, run, "held", plus(minus(database.perform(readRun(run)).held, heldBy(row)), spent));
}

/** The record of a call is kept in the same transaction: its holds go, and run and job get what it spent. */
export function settle(database: Database, { run, n, call, spent }: Settled): void {
  const free = take(database, "call = ?", run, n, call);
  const purse = database.perform(readRun(run));
  setSum(database, run, "held", minus(purse.held, free));
  setSum(database, run, "spent", plus(purse.spent, spent));
  const sums = amountColumns("spent").map((column) => `${column} = ${column} + ?`);
  const changed = database.run(
    `UPDATE jobs SET ${sums.join(", ")} WHERE run = ? AND n = ?`,
    ...[...fieldsOfAmount(spent), run, n],
  );
  if (changed === 0) throw misuse(`run ${run} has no job ${n}`);
}

/** Nobody knows what the requests took whose holds an earlier try left. They count in full, for ever. */
export function doubt(database: Database, { run, n }: JobKey): void {
  const left = take(database, "? IS NULL", run, n, null);
  if (left === NOTHING) return;
  const purse = database.perform(readRun(run));
  setSum(database, run, "held", minus(purse.held, left));
  setSum(database, run, "doubtful", plus(purse.doubtful, left));
}

/** Takes holds of a job away; returns their sum. */
function take(database: Database, which: string, run: string, n: number, value: string | null): Amount {
  const rows = database.all(`DELETE FROM holds WHERE run = ? AND n = ? AND ${which} RETURNING *`, run, n, value);
  return rows.map(heldBy).reduce(plus, NOTHING);
}

function heldBy(row: Row): Amount {
  return { nanodollars: number(row, "usd"), tokens: number(row, "tokens"), sub_calls: number(row, "calls") };
}

function setSum(database: Database, run: string, of: "held" | "spent" | "doubtful", amount: Amount): void {
  const set = amountColumns(of).map((column) => `${column} = ?`);
  database.run(`UPDATE runs SET ${set.join(", ")} WHERE id = ?`, ...fieldsOfAmount(amount), run);
}

/** Takes the next instants of a rate, unless they are too far; answers how long to wait for the first of them, ms. */
export function slot(database: Database, { key, perMinute }: Rate, cost: number, now: number): number {
  const from = Math.max(tatOf(database, key) ?? now, now);
  const wait = from - now;
  if (wait <= LIMITS.rateWaitMs) setTat(database, key, from + intervalOf(perMinute) * cost);
  return wait;
}

/** Nobody sends under this rate for so long. */
export function hush(database: Database, { key }: Rate, ms: number, now: number): void {
  setTat(database, key, Math.max(tatOf(database, key) ?? now, now + ms));
}

function tatOf(database: Database, key: string): number | null {
  const row = database.get("SELECT tat FROM rates WHERE key = ?", key);
  return row ? number(row, "tat") : null;
}

function setTat(database: Database, key: string, tat: number): void {
  database.run("INSERT OR REPLACE INTO rates (key, tat) VALUES (?, ?)", key, tat);
}
