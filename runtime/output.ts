export type Stream = "stdout" | "stderr";

/** What a cell has printed, as it stands in an ExecState: both streams share one cap. */
export interface Output {
  stdout: string;
  stderr: string;
  /** UTF-8 bytes kept of both. */
  bytes: number;
  truncated: boolean;
  /** UTF-8 bytes that were printed and are not kept. States of earlier builds do not have it. */
  dropped?: number;
}

export const TRUNCATED = "\n[truncated]";

export const noOutput = (): Output => ({ stdout: "", stderr: "", bytes: 0, truncated: false });

/** The warning that belongs to output that was cut: how much was printed, and how much of it is kept at the most. */
export function outputWarning({ bytes, dropped = 0 }: Output, maxBytes: number): string {
  return `output_truncated: ${sizeText(bytes - TRUNCATED.length + dropped)} > ${sizeText(maxBytes)}`;
}

/** `812 bytes`, `24.1 KB`, `18.2 MB` of so many bytes. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 2 ** 20 ? `${+(bytes / 1024).toFixed(1)} KB` : `${+(bytes / 2 ** 20).toFixed(1)} MB`;
}

/**
 * Adds text to a stream. Where both streams together would go over `maxBytes`, this one is cut at a character and ends
 * with `\n[truncated]`, the mark within the limit, and all that follows is dropped.
 */
export function appendOutput(output: Output, stream: Stream, text: string, maxBytes: number): void {
  const whole = text.toWellFormed();
  const bytes = Buffer.byteLength(whole);
  if (output.truncated) {
    output.dropped = (output.dropped ?? 0) + bytes;
    return;
  }
  output.bytes += bytes;
  output[stream] += whole;
  if (output.bytes <= maxBytes) return;
  const printed = output.bytes;
  const other = stream === "stdout" ? "stderr" : "stdout";
  const room = maxBytes - TRUNCATED.length;
  output[other] = cutUtf8(output[other], room);
  output[stream] = cutUtf8(output[stream], room - Buffer.byteLength(output[other])) + TRUNCATED;
  output.bytes = Buffer.byteLength(output.stdout) + Buffer.byteLength(output.stderr);
  output.dropped = printed - (output.bytes - TRUNCATED.length);
  output.truncated = true;
}

/** The longest prefix of whole characters within `maxBytes` of UTF-8. */
export function cutUtf8(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  return text.slice(0, read);
}
