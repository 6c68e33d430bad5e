import { resolve } from "node:path";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkResultFile } from "../running/result-file.ts";
import { type Format, formatOf } from "./format.ts";

/** The place of the results: nowhere, to stdout, or to a file (absolute, and as it was typed). */
export type OutPlace =
  | { readonly kind: "none" }
  | { readonly kind: "stdout"; readonly format: Format }
  | { readonly kind: "file"; readonly format: Format; readonly path: string; readonly typed: string };

/** @throws UsageError; RlmError `output_failed` if nothing can be written there, which is tried */
export function outPlace(
  typed: string | undefined,
  named: Format | undefined,
  json: boolean,
  command: string,
): OutPlace {
  if (typed === undefined && named === undefined) return { kind: "none" };
  if (typed === undefined) throw new UsageError("--format needs --out FILE", commandLine(["help", command]));
  const format = formatOf(typed, named, command);
  if (typed !== "-") {
    const path = resolve(typed);
    checkResultFile(path);
    return { kind: "file", format, path, typed };
  }
  if (!json) return { kind: "stdout", format };
  throw new UsageError("--json and --out - would both write to stdout", commandLine(["help", command]));
}
