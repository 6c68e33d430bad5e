export type Stream = "stdout" | "stderr";

/** What a cell has printed, as it stands in an ExecState: both streams share one cap. */
export interface Output {
  stdout: string;
  stderr: string;
  /** UTF-8 bytes kept of both. */
  bytes: number;
  truncated: boolean;
}

export const TRUNCATED = "\n[truncated]";

export const noOutput = (): Output => ({ stdout: "", stderr: "", bytes: 0, truncated: false });

/**
 * Adds text to a stream. Where both streams together would go over `maxBytes`, this one is cut at a character and ends
 * with `\n[truncated]`, the mark within the limit, and all that follows is dropped.
 */
export function appendOutput(output: Output, stream: Stream, text: string, maxBytes: number): void {
  if (output.truncated) return;
  const whole = text.toWellFormed();
  output.bytes += Buffer.byteLength(whole);
  output[stream] += whole;
  if (output.bytes <= maxBytes) return;
  const other = stream === "stdout" ? "stderr" : "stdout";
  const room = maxBytes - TRUNCATED.length;
  output[other] = cutUtf8(output[other], room);
  output[stream] = cutUtf8(output[stream], room - Buffer.byteLength(output[other])) + TRUNCATED;
  output.bytes = Buffer.byteLength(output.stdout) + Buffer.byteLength(output.stderr);
  output.truncated = true;
}

/** The longest prefix of whole characters within `maxBytes` of UTF-8. */
export function cutUtf8(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  return text.slice(0, read);
}
