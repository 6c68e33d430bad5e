import { readFileSync } from "node:fs";
import * as v from "valibot";

/** A hostile program or input, as cases.json has it. Names in its code are placeholders: adapter.ts maps them to Belay's. */
export type Case = v.InferOutput<typeof CASE>;

const CASE = v.object({
  id: v.string(),
  class: v.string(),
  title: v.string(),
  kind: v.picklist(["guest", "fs", "snap", "journal", "host"]),
  /** Surroundings of the case, in words. */
  setup: v.optional(v.string()),
  code: v.optional(v.string()),
  steps: v.optional(v.array(v.string())),
  expected: v.object({
    /** `survives`: with success or any error code. */
    outcome: v.picklist(["ok", "error", "survives"]),
    error_code: v.optional(v.array(v.string())),
    value: v.optional(v.unknown()),
    /** In words: set-ups in this folder look at them. */
    checks: v.optional(v.array(v.string())),
  }),
});

export const CASES: readonly Case[] = v.parse(
  v.array(CASE),
  JSON.parse(readFileSync(new URL("./cases.json", import.meta.url), "utf8")),
);
