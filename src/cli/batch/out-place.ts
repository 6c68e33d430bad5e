import { resolve } from "node:path";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkResultFile } from "../running/result-file.ts";

/** Where the lines of results go: nowhere, to stdout, or to a file (absolute, and as it was typed). */
export type OutPlace =
  | { readonly kind: "none" }
  | { readonly kind: "stdout" }
  | { readonly kind: "file"; readonly path: string; readonly typed: string };

/** @throws UsageError; RlmError `output_failed` if nothing can be written there, which is tried */
export function outPlace(typed: string | undefined, json: boolean, command: string): OutPlace {
  if (typed === undefined) return { kind: "none" };
  if (typed !== "-") {
    const path = resolve(typed);
    checkResultFile(path);
    return { kind: "file", path, typed };
  }
  if (!json) return { kind: "stdout" };
  throw new UsageError("--json and --out - would both write to stdout", commandLine(["help", command]));
}
