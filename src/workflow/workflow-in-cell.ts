import type { Json } from "../../runtime/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";
import { readWorkflow, type WorkflowMeta } from "./script.ts";

/** The workflow that a cell runs, as its text tells it. */
interface CellWorkflow {
  readonly meta: WorkflowMeta;
  /** undefined: the script has none. */
  readonly args: Json | undefined;
  /** The agent of calls that name none; null: the session's model. */
  readonly usual: string | null;
}

const BEGINNING = "/* workflow ";
const BODY = /^\/\* workflow .*? \*\/ result = await run_workflow\(async \([\w, ]*\) => \{\{/;
const LITERAL = /^JSON\.parse\((".*")\)\);$/;

/** Reads the cell that `workflowCell` makes; null for any other. */
export function workflowInCell(source: string): CellWorkflow | null {
  if (!source.startsWith(BEGINNING)) return null;
  const [head = ""] = BODY.exec(source) ?? [];
  const end = source.lastIndexOf("\n}}, JSON.parse(");
  if (head === "" || end < head.length) return null;
  const [literal = ""] = source.slice(end + "\n}}, ".length).split("\n", 1);
  const [, text = ""] = LITERAL.exec(literal) ?? [];
  const given = parseJson(String(parseJson(text) ?? ""));
  if (!isRecord(given)) return null;
  const meta = metaOf(source.slice(head.length, end));
  return meta && { meta, args: given.args, usual: typeof given.usual === "string" ? given.usual : null };
}

/** White space and comments before the first statement. */
const LEADING = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/;

/** The head of a script, of whose body spaces replace `export`; null if it has none. */
function metaOf(body: string): WorkflowMeta | null {
  const [leading = ""] = LEADING.exec(body) ?? [];
  const before = leading.length - "export ".length;
  if (before < 0 || body.slice(before, leading.length).trim() !== "") return null;
  try {
    return readWorkflow(`${body.slice(0, before)}export ${body.slice(leading.length)}`, "").meta;
  } catch {
    // Another user may have written the store.
    return null;
  }
}
