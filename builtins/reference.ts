import type { Builtin } from "./define.ts";

/**
 * The builtins as a model reads them: a line for each that it needs first, the types that these
 * name, the names of others.
 *
 * @param conversation there is one, so that cells can use what reads it
 * @param recursion what is said of calls with a context of their own: everything, the name of
 * rlm_query, or nothing
 */
export function cellReference(
  defined: readonly Builtin[],
  recursion: "explained" | "named" | "absent" = "named",
  conversation = false,
): string {
  const isCore = ({ name }: Builtin) => CORE.has(name) || (recursion === "explained" && name === RECURSIVE);
  const absent = [
    ...OF_PROGRAMS,
    ...(recursion === "absent" ? [RECURSIVE] : []),
    ...(conversation ? [] : [CONVERSATION]),
  ];
  const known = defined.filter(({ name }) => !absent.includes(name));
  const core = known.filter(isCore);
  const further = known.filter((builtin) => !isCore(builtin)).map(({ name }) => name);
  const lines = core.map(recursion === "explained" ? builtinLine : plainLine).join("\n");
  const types = typesOf(core, lines);
  const cell = withoutUnknown(`${lines}\n\n${types.join("\n")}`, types);
  return `${cell}\n\nMore, which help("name") explains: ${further.join(", ")}.`;
}

/**
 * Builtins that have a line of their own. The others cost a word each: the model asks `help` for
 * them in a cell.
 */
const CORE: ReadonlySet<string> = new Set([
  ...["P", "peek", "peek_doc", "find", "search", "list_docs", "memory", "llm_query", "llm_query_batch"],
]);

const RECURSIVE = "rlm_query";
const CONVERSATION = "history";
/**
 * Scripts of runs are written by people. Most sessions have no functions, and `functionLines` tells
 * of those that there are.
 */
const OF_PROGRAMS = ["job", "functions"];

/** The line of a builtin, without what it says of calls with a context of their own. */
const plainLine = (builtin: Builtin) =>
  builtinLine(builtin)
    .replaceAll(" With `context` it does what rlm_query does.", "")
    .replaceAll("(SubCallOptions | ChildOptions)", "SubCallOptions")
    .replaceAll(" | ChildOptions", "");

/**
 * `peek(start: number, end: number): string — Characters start..end of P`. It shows the first
 * overload; `help` has the others.
 */
function builtinLine({ name, signature, summary, brief }: Builtin): string {
  const signatures = signature.split("\n").slice(0, signature.startsWith("function ") ? 1 : undefined);
  const members = signatures.map((line) => bare(line).replace(/^(?:function|const) |: void$/g, ""));
  return `${members.join("; ")} — ${brief ?? (name.startsWith("llm_") ? summary : gist(summary))}`;
}

/** Without the types that a name tells already. */
const bare = (code: string) => code.replaceAll(/(?<=\w\??): (?:string|number|boolean)(?=[,;)\]]| \})/g, "");

/** The beginning of a summary, as far as it says what the builtin does. */
function gist(summary: string): string {
  const [sentence = ""] = summary.split(/(?<=[^.])(?:\.\s|[;:] |\.$)/);
  return sentence.replaceAll(/ \([^()]*\)/g, "");
}

/** Types of answers and options that the lines name, a line each, without comments. */
function typesOf(defined: readonly Builtin[], lines: string): readonly string[] {
  const declared = defined.flatMap(({ types = "" }) => types.split(/(?=^(?:\/\*\*.*\n)?interface )/m));
  return declared
    .map((type) =>
      bare(type)
        .replaceAll(/\/\*\*.*?\*\/\s*/gs, "")
        .replaceAll("interface ", "")
        .replaceAll(/ extends (\w+)/g, " = $1 &")
        .replaceAll(/\s+/g, " ")
        .replaceAll("; }", " }")
        .trim(),
    )
    .filter((type) => type !== "" && lines.includes(nameOf(type)));
}

const nameOf = (type: string) => type.slice(0, type.search(/\W/));

/** Without names of types that nothing here explains. */
function withoutUnknown(text: string, types: readonly string[]): string {
  const known = new Set(["Promise", "RegExp", ...types.map(nameOf)]);
  return text.replaceAll(/: ([A-Z]\w+)(?:\[\])*(?=[,;)]|$| —)/gm, (whole, name: string) =>
    known.has(name) ? whole : "",
  );
}
