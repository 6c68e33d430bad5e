import type { Output } from "../../../src/cli/render/terminal.ts";
import { inLine, jsonText } from "../../../src/platform/visible.ts";

/** An output without colours that keeps what is written. */
export function recorded({ isTerminal = false, columns = 80 } = {}) {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const output: Output = {
    isTerminal,
    columns,
    colours: false,
    paint: (text) => text,
    write,
    line: (text) => write(`${inLine(text)}\n`),
    json: (value) => write(`${jsonText(value)}\n`),
    writeRaw: write,
  };
  return { output, written, text: () => written.join("") };
}
