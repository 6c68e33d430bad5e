import { type Builtin, builtins, isReserved } from "../../builtins/index.ts";

/** What the model reads of rlm_exec: the rules of a cell, the builtins by their definitions, two patterns. */
export function cellDescription(): string {
  const core = builtins.filter(({ name }) => isReserved(name));
  const further = builtins.filter(({ name }) => !isReserved(name)).map(({ name }) => name);
  const lines = [...core.map(builtinLine), `Also ${further.join(", ")}.`].join("\n");
  return `${RULES}\n\n${lines}\n\n${typesOf(core, lines)}\n\n${PATTERNS}`;
}

const RULES = `Run a JavaScript cell (ES2023, top-level await; no modules, network, files) over the context P. Top-level variables persist across calls. Set result (JSON) to return it as result_json, result_meta for paging facts; print() goes to stdout. Answers are cut at 50 KB: filter and aggregate in code.`;

const PATTERNS = `Search, then let models read the parts:
const hits = search("retry policy", 8);
result = (await llm_query_batch(hits.map((h) => "Which retries?\\n" + h.text), { tools: [] })).results;

Count exactly, keep the rest for later:
const { matches, capped } = find("TODO|FIXME", "i");
memory.put("todos", matches);
result = { count: matches.length, capped, first: matches.slice(0, 5).map(([s, e]) => peek(s - 40, e + 60)) };`;

/** `peek(start: number, end: number): string — Characters start..end of P` */
function builtinLine({ name, signature, summary }: Builtin): string {
  // Of a function with several signatures the first: help(name) shows the others.
  const signatures = signature.startsWith("function ") ? signature.split("\n").slice(0, 1) : signature.split("\n");
  const members = signatures.map((line) => bare(line).replace(/^(?:function|const) |: void$/g, ""));
  return `${members.join("; ")} — ${name.startsWith("llm_") ? summary : gist(summary)}`;
}

/** Without the types that a name tells already. */
const bare = (code: string) => code.replaceAll(/(?<=\w\??): (?:string|number|boolean)(?=[,;)\]]| \})/g, "");

/** The beginning of a summary, as far as it says what the builtin does. */
function gist(summary: string): string {
  const [sentence = ""] = summary.split(/(?<=[^.])(?:\.\s|[;:] |\.$)/);
  return sentence.replaceAll(/ \([^()]*\)/g, "");
}

/**
 * Types of answers and options that the signatures name, without their comments; those of facts about the session can be seen
 * by calling.
 */
function typesOf(defined: readonly Builtin[], signatures: string): string {
  const shown = defined.filter(({ name }) => !SHOWN_BY_CALLING.has(name));
  return shown
    .flatMap(({ types = "" }) => types.split(/(?=^interface )/m))
    .filter((types) => signatures.includes(/^interface (\w+)/.exec(types)?.[1] ?? types))
    .map((types) =>
      bare(types)
        .replaceAll(/\/\*\*.*?\*\/\s*/gs, "")
        .replaceAll(/interface (SubAgentError) .*?\n\}/gs, "")
        .replaceAll("interface ", "")
        .replaceAll(/ extends (\w+)/g, " = $1 &")
        .replaceAll(/\s+/g, " ")
        .replaceAll("; }", " }")
        .trim(),
    )
    .filter((types) => types !== "")
    .join("\n");
}

const SHOWN_BY_CALLING: ReadonlySet<string> = new Set(["stats", "session", "limits", "budget", "memory"]);
