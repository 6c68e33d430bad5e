import * as v from "valibot";
import { damaged, type Growing } from "./growing.ts";

const Lines = v.pipe(
  v.array(v.string()),
  v.transform((lines) => lines.join("")),
);
const Text = v.fallback(v.union([v.string(), Lines]), "");
const Output = v.object({
  text: v.exactOptional(Text),
  data: v.fallback(v.record(v.string(), v.unknown()), {}),
  ename: v.exactOptional(v.string()),
  evalue: v.exactOptional(v.string()),
});
const Cell = v.object({ source: Text, outputs: v.fallback(v.array(Output), []) });
const Notebook = v.pipe(v.string(), v.parseJson(), v.object({ cells: v.array(Cell) }));

/** Reads the sources of a Jupyter notebook and the text of its outputs. @throws Unreadable */
export function readNotebook(bytes: Buffer, text: Growing): void {
  for (const [at, { source, outputs }] of parsed(bytes).entries()) {
    text.part(`cell ${at + 1}`);
    text.add(source);
    text.line();
    for (const { text: printed, data, ename, evalue } of outputs) {
      const error = ename === undefined ? undefined : `${ename}: ${evalue ?? ""}`;
      const said = printed ?? ("text/plain" in data ? v.parse(Text, data["text/plain"]) : error);
      if (said !== undefined) text.add(`[output]\n${said}`);
      text.line();
      if (Object.keys(data).some((type) => type.startsWith("image/"))) text.lose("image", `cell ${at + 1}`);
    }
  }
}

function parsed(bytes: Buffer) {
  const notebook = v.safeParse(Notebook, bytes.toString("utf8"));
  if (!notebook.success) throw damaged("it has no cells, as notebooks of nbformat 4 do");
  return notebook.output.cells;
}
