import type { Exporting } from "../../history/telemetry/index.ts";
import { RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { typedName } from "../../platform/shell-word.ts";
import { version } from "../../platform/version.ts";
import { inLine } from "../../platform/visible.ts";
import { isCollector } from "../../settings/index.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Terminal } from "../render/terminal.ts";

/** The place that spans go to: a file, stdout, or a collector. */
type SpansTarget = { readonly file: string } | { readonly url: string } | "stdout";

/** @throws UsageError for a URL that no collector can have */
export function spansTarget(typed: string): SpansTarget {
  if (typed === "-") return "stdout";
  if (isCollector(typed)) return { url: typed };
  if (!typed.includes("://")) return { file: typed };
  const problem = "--otlp takes a file, -, or an address such as http://127.0.0.1:4318 without user and password";
  throw new UsageError(problem, commandLine(["help", "show"]));
}

/**
 * Writes or sends the spans of a session.
 * @param flags name the store in lines to type
 * @throws RlmError `otlp_failed`, `output_failed`
 */
export async function showSpans(
  exporting: Exporting,
  target: SpansTarget,
  flags: readonly string[],
  { stdout, stderr }: Terminal,
) {
  const { linesOf, sendLines, spansOf } = await import("../../history/telemetry/index.ts");
  const lines = linesOf(spansOf(exporting), version());
  if (target === "stdout") {
    for (const { text } of lines) stdout.writeRaw(`${text}\n`);
  } else if ("file" in target) {
    let written = 0;
    const pieces = lines.map(({ text, spans }) => {
      written += spans;
      return `${text}\n`;
    });
    await writeResultFile(target.file, pieces, exporting.session.id);
    stderr.write(`wrote ${amount(written, "span")} to ${inLine(target.file)}\n`, "dim");
  } else {
    const { spans, requests, rejected, problem } = await sendLines(lines, { url: target.url, env: process.env }, null);
    const sent = `${amount(spans, "span")} in ${amount(requests, "request")}`;
    if (rejected > 0)
      stderr.write(`otlp_failed: the collector rejected ${rejected} of ${amount(spans, "span")}\n`, "yellow");
    if (problem === null) return stderr.write(`sent ${sent}\n`);
    const line = commandLine(["show", typedName(exporting.session), "--otlp", "FILE", ...flags]);
    const place = new URL(target.url).origin;
    throw new RlmError("otlp_failed", `the collector at ${place} took ${sent}, and not the rest: ${problem}`, {
      suggestion: `Check the URL and OTEL_EXPORTER_OTLP_HEADERS; \`${line}\` keeps the spans.`,
    });
  }
}
