export type Stream = "stdout" | "stderr";

/** Text that a cell has printed, as an ExecState has it. Both streams share one cap. */
export interface Output {
  stdout: string;
  stderr: string;
  /** Bytes of UTF-8 that are kept of both. */
  bytes: number;
  truncated: boolean;
  /** Bytes of UTF-8 that were printed and are not kept. States of earlier builds lack it. */
  dropped?: number;
}

const TRUNCATED = "\n[truncated]";

export const noOutput = (): Output => ({ stdout: "", stderr: "", bytes: 0, truncated: false });

/** The warning for output that was cut: how much was printed, and the most that is kept of it. */
export function outputWarning({ bytes, dropped = 0 }: Output, maxBytes: number): string {
  return `output_truncated: ${sizeText(bytes - TRUNCATED.length + dropped)} > ${sizeText(maxBytes)}`;
}

/** `812 bytes`, `24.1 KB`, `18.2 MB` of so many bytes. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 2 ** 20 ? `${+(bytes / 1024).toFixed(1)} KB` : `${+(bytes / 2 ** 20).toFixed(1)} MB`;
}

/**
 * Adds text to a stream. If both streams together would exceed `maxBytes`, this one is cut at a
 * character and ends with `\n[truncated]`, which counts too. All that follows is dropped.
 */
export function appendOutput(output: Output, stream: Stream, text: string, maxBytes: number): void {
  const whole = encodable(text);
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

/** The text with halves of characters, which no encoding has, as code points: `\ud83d`. */
export function encodable(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replaceAll(/\p{Cs}/gu, (half) => `\\u${(half.codePointAt(0) ?? 0).toString(16)}`);
}

/** Returns the longest prefix of whole characters that fits in `maxBytes` of UTF-8. */
export function cutUtf8(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, maxBytes)));
  return text.slice(0, read);
}
