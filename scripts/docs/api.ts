import { type Declared, docOf, exportsOf, named, nodesOf, type Part, sourceOf, textOf } from "./public-types.ts";

/** Entries of the package that programs import, by the name under which they do. */
const ENTRIES = {
  "belay-rlm": "src/index.ts",
  "belay-rlm/tools": "src/tools/open-tools.ts",
  "belay-rlm/runs": "src/runs/open-runs.ts",
};

/** Exports by topic, in the order of the page. One that is missing here is an error. */
const TOPICS: Readonly<Record<string, readonly string[]>> = {
  "Opening a session": ["openSession", "SessionOptions", "Session", "SessionFunction", "SubAgentPolicy", "OnRestart"],
  Loading: [
    "LoadSource",
    "LoadPaths",
    "LoadingOptions",
    "LoadResult",
    "ContextStats",
    "SkippedFile",
    "SkippedStats",
    "ToldSkips",
  ],
  "Running cells": [
    ...[
      "ExecOptions",
      "WaitOptions",
      "ExecEnvelope",
      "ExecSuccess",
      "ExecFailure",
      "ExecLimits",
      "ProviderWait",
      "HeldBack",
    ],
    ...["Unfinished", "Resumed", "DryRun", "CallEstimate", "BudgetLimits", "RemainingBudget"],
  ],
  "Memory and helpers": ["SessionMemory", "SessionHelpers", "HelperEntry"],
  Questions: [
    ...["AskOptions", "AskEnvelope", "Citation", "QueryOptions", "SearchStrategy", "ReadingOptions", "ObjectToRead"],
    "QueryEnvelope",
  ],
  "Answering sub-calls yourself": ["Complete", "CompletionRequest", "CompletionMessage", "Completion"],
  Events: ["SessionEvent", "CallProgress", "PhaseProgress", "CallNotice", "CheckpointNotice"],
  "Kept sessions": [
    ...["openStore", "SessionStore", "SessionSummary", "SessionDescription", "ExecDescription", "CallDescription"],
    ...["ChildDescription", "AskDescription", "TurnDescription", "ResumeDescription", "CheckpointDescription"],
    ...["SessionCoverage", "Coverage", "CollectOptions", "Collected"],
  ],
  Workflows: ["runWorkflow", "RunWorkflowOptions"],
  "Tools for an agent": [
    ...["openTools", "ToolsOptions", "SessionTools", "SessionTool", "CallOptions", "ToolParameters"],
    ...["ToolParameter", "ToolAnswer", "ToolJson"],
  ],
  "Runs over many inputs": [
    ...["openRuns", "RunsOptions", "Runs", "RunOptions", "RunLimitOptions", "Run", "FollowOptions", "RunEvent"],
    ...["RunStatus", "RunWord", "RunFigures", "JobCounts", "RunAmount", "ReusedFigures", "JobResult"],
  ],
  "Errors and limits": ["RlmError", "ErrorCode", "ERROR_CODES", "LIMITS", "Json"],
};

/** Types whose parts are of no use to callers. */
const OPAQUE = ["Context", "ParameterSchema"];

/** Constants whose values have tables of their own. */
const TABLES: Readonly<Record<string, string>> = {
  ERROR_CODES: "All codes; [error codes](builtins.md#error-codes) has their meanings and cures.",
  LIMITS: "The fixed limits by name; [all limits](builtins.md#all-limits) has their values.",
};

const INTRODUCTION = `# Reference of the library

Everything that \`belay-rlm\`, \`belay-rlm/tools\` and \`belay-rlm/runs\` export, generated from the types by \`npm run docs\`. [The library](library.md)
is the way in. A type with a smaller heading is not exported: it is a part of the type above it.

A \`?\` marks a property that may be left out; where a caller passes it, it may be \`undefined\` too. Methods that return a promise
reject with an [RlmError](#rlmerror); the codes that they add to those of their interface are named.`;

/** docs/api.md: every export of the package with its signature, what it returns and what it throws. */
export function apiFile(): string {
  const exported = new Map(Object.values(ENTRIES).flatMap((entry) => [...exportsOf(entry)]));
  const listed = Object.values(TOPICS).flat();
  const wrong = [...exported.keys(), ...listed].filter((name) => !exported.has(name) || !listed.includes(name));
  if (wrong.length > 0) throw new Error(`not an export, or in no topic of docs/api.md: ${wrong.join(", ")}`);
  const refusing = refusingUndefined([...exported.values()]);
  if (refusing.length > 0) throw new Error(`these options do not take undefined: ${refusing.join(", ")}`);
  const shown = new Set(exported.values());
  const parts = (declared: Declared): string[] =>
    named(declared).flatMap((one) => {
      if (shown.has(one) || OPAQUE.includes(one.name)) return [];
      shown.add(one);
      return [section(one, `#### ${one.name}`), ...parts(one)];
    });
  const topics = Object.entries(TOPICS).map(([title, names]) => {
    const sections = names.flatMap((name) => {
      const declared = exported.get(name);
      return declared ? [section({ ...declared, name }, `### ${name}`), ...parts(declared)] : [];
    });
    return [`## ${title}`, ...sections].join("\n\n");
  });
  const contents = Object.entries(TOPICS).map(([title, names]) => {
    const links = names.map((name) => `[${name}](#${name.toLowerCase()})`);
    return `- ${title}: ${links.join(" · ")}`;
  });
  return `${[INTRODUCTION, contents.join("\n"), ...topics].join("\n\n")}\n`;
}

function section(declared: Declared, heading: string): string {
  const { name, file, node } = declared;
  const words = TABLES[name] ? [TABLES[name]] : wordsOf(declared.doc);
  return [heading, ...shapeOf(file, node, words)].join("\n\n");
}

/** A declaration, with its words at the place where they read best. */
function shapeOf(file: string, node: Declared["node"], words: readonly string[]): readonly string[] {
  if (node.type === "TSInterfaceDeclaration") return [...words, ...bases(file, node), ...members(file, node.body.body)];
  if (node.type === "ClassDeclaration") return [...words, ...members(file, node.body.body)];
  if (node.type === "FunctionDeclaration") return [fenced(headOf(file, node)), ...words];
  if (node.type === "TSTypeAliasDeclaration") return [...words, fenced(aliasOf(file, node))];
  return words;
}

/** A function up to its body. */
function headOf(file: string, node: Part & { readonly body: { readonly start: number } | null }): string {
  return textOf(file, { start: node.start, end: node.body?.start ?? node.end }).replace(/^async /, "");
}

/** A type that names the values of a constant list is shown with these. */
function aliasOf(file: string, node: Part): string {
  const text = sourceOf(file, node).replace(/;$/, "");
  const [, list] = /= \(typeof (\w+)\)\[number\]$/.exec(text) ?? [];
  const values = list === undefined || list === "ERROR_CODES" ? null : /\[(.*?)\]/s.exec(constantOf(file, list))?.[1];
  return values
    ? text.replace(
        /=.*/s,
        `= ${values
          .trim()
          .replaceAll(/,\s*(?=")/g, " | ")
          .replace(/,$/, "")}`,
      )
    : text;
}

function bases(file: string, node: Extract<Declared["node"], { type: "TSInterfaceDeclaration" }>): readonly string[] {
  const names = node.extends.map((one) => `\`${textOf(file, one)}\``);
  return names.length === 0 ? [] : [`It has what ${names.join(" and ")} ${names.length === 1 ? "has" : "have"}, and:`];
}

/** Properties in a table, then each method with what it does. */
function members(file: string, all: readonly Part[]): readonly string[] {
  const rows: string[] = [];
  const methods: string[] = [];
  for (const member of all) {
    const words = wordsOf(docOf(file, member)).join(" ");
    if (member.type === "TSMethodSignature" || member.type === "MethodDefinition") {
      const signature = member.type === "MethodDefinition" ? headOf(file, member.value) : textOf(file, member);
      const name = member.type === "MethodDefinition" ? textOf(file, member.key) : "";
      methods.push(`- \`${name}${signature.replace(/;$/, "")}\`${words === "" ? "" : `\\\n  ${words}`}`);
    } else if (member.type === "TSPropertySignature" || member.type === "PropertyDefinition") {
      const type = member.typeAnnotation ? textOf(file, member.typeAnnotation).replace(/^: ?/, "") : "";
      const name = `${textOf(file, member.key)}${member.optional ? "?" : ""}`;
      const value = type === "" && "value" in member && member.value ? textOf(file, member.value) : type;
      rows.push(`| \`${name}\` | ${code(optional(value, member.optional))} | ${words.replaceAll("|", "\\|")} |`);
    } else {
      rows.push(`| ${code(textOf(file, member).replace(/;$/, ""))} | | ${words} |`);
    }
  }
  const table = rows.length === 0 ? [] : [["| property | type | |", "|---|---|---|", ...rows].join("\n")];
  return [...table, ...(methods.length === 0 ? [] : [methods.join("\n")])];
}

/** Without the `undefined` that the `?` of the name already tells of. */
function optional(type: string, isOptional = false): string {
  if (!isOptional) return type;
  return type.replace(/ \| undefined$/, "").replace(/^\((.*=>.*)\)$/, "$1");
}

const code = (text: string) => `\`${text.replaceAll("|", "\\|")}\``;
const fenced = (text: string) => `\`\`\`ts\n${text}\n\`\`\``;

/** A docstring as sentences: what it says, what it returns, what it throws. */
function wordsOf(doc: string): readonly string[] {
  const [text = "", ...tags] = doc.split(/(?:^|\s)@(?=param |returns |throws )/);
  const told = tags.map((tag) => {
    const [kind = "", ...words] = line(tag).split(" ");
    const rest = words.join(" ").replace(/^RlmError,? ?/, "");
    if (kind === "throws") return rest === "" ? "" : `Throws ${rest.replace(/\.$/, "")}.`;
    return kind === "returns" ? `Returns ${rest.replace(/\.$/, "")}.` : `\`${words[0]}\`: ${words.slice(1).join(" ")}.`;
  });
  return [line(text), told.filter((one) => one !== "").join(" ")].filter((one) => one !== "");
}

function line(text: string): string {
  return text
    .replaceAll(/\{@link (\w+)\}/g, "`$1`")
    .replaceAll("*\\/", "*/")
    .replaceAll(/ \((?:spec|semantics) [^)]*\)/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function constantOf(file: string, name: string): string {
  return sourceOf(file, { start: 0, end: Number.POSITIVE_INFINITY }).split(`const ${name} =`)[1] ?? "";
}

/** Optional properties of what callers pass, and callbacks return, that do not take `undefined`. */
function refusingUndefined(exported: readonly Declared[]): readonly string[] {
  const passed = new Set<Declared>();
  const refusing: string[] = [];
  const look = (declared: Declared) => {
    if (passed.has(declared) || NOT_MADE_BY_CALLERS.includes(declared.name)) return;
    passed.add(declared);
    for (const part of nodesOf(declared.node)) {
      if (part.type !== "TSPropertySignature" || !part.optional || !part.typeAnnotation) continue;
      const text = textOf(declared.file, part.typeAnnotation);
      if (!text.endsWith("undefined")) refusing.push(`${declared.name}.${textOf(declared.file, part.key)}`);
    }
    for (const one of named(declared)) look(one);
  };
  for (const one of exported) {
    if (/(?:Options|Paths|Policy|Completion)$/.test(one.name)) look(one);
  }
  return refusing;
}

/** Types that options name and callers only hand back, or are told. */
const NOT_MADE_BY_CALLERS = ["Context", "SessionEvent", "RunEvent", "Session", "CheckpointNotice", "Usage"];
