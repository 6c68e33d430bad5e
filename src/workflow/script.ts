import { type Expression, type Node, type Program, parse, type SpreadElement } from "acorn";
import * as v from "valibot";
import {
  CellSyntaxError,
  findImport,
  isScriptMistake,
  type Json,
  RlmError,
  withoutTypes,
} from "../../runtime/index.ts";

const text = v.pipe(v.string("must be a text"), v.minLength(1, "must not be empty"));
const optional = v.exactOptional(v.string("must be a text"));

const Phase = v.object({ title: text, detail: optional, model: optional }, "must be { title }");

const Meta = v.object(
  {
    name: text,
    description: text,
    whenToUse: optional,
    phases: v.optional(v.array(Phase, "must be a list"), []),
  },
  "must be an object",
);

/** The head of a script: what lists show, and the names of its parts. */
export type WorkflowMeta = Readonly<v.InferOutput<typeof Meta>>;

/** A script that was read, and of which nothing has run. */
export interface WorkflowScript {
  readonly meta: WorkflowMeta;
  /** The text as it was given. */
  readonly source: string;
  /**
   * The body of an async function, in JavaScript. Its lines are those of the source, and so are its
   * columns.
   */
  readonly body: string;
  /** The source has types, which the body is without. */
  readonly isTypeScript: boolean;
}

/**
 * Reads a workflow's script, and runs nothing of it.
 *
 * @param file its name in messages
 * @throws RlmError `invalid_argument` with the place in the script
 */
export function readWorkflow(source: string, file: string): WorkflowScript {
  // A byte order mark and the line of a shell are no part of the language.
  const script = source.replace(/^\uFEFF/, "").replace(/^#!/, "//");
  const { program, code, isTypeScript } = programOf(script, file);
  const [first, ...rest] = program.body;
  const declaration = first?.type === "ExportNamedDeclaration" ? first.declaration : null;
  const declared = declaration && metaIn(declaration);
  if (!first || !declaration || !declared?.init) {
    const problem = `${file}: the first statement must be \`export const meta = { name, description }\``;
    throw refused(problem, "Begin the script with it: it names the workflow, and nothing runs before it is read.");
  }
  const meta = v.safeParse(Meta, literal(declared.init, file));
  if (!meta.success) {
    const [issue] = meta.issues;
    const path = ["meta", v.getDotPath(issue)].filter((part) => part !== null).join(".");
    const problem = `${place(file, declared)}: ${path} ${issue.received === "undefined" ? "is missing" : issue.message}`;
    throw refused(problem, "meta needs a name and a description; phases is a list of { title }.");
  }
  const module = rest.find(({ type }) => type.startsWith("Export")) ?? findImport(program);
  if (module) throw moduleRefused(place(file, module));
  const body =
    code.slice(0, first.start) + blank(code.slice(first.start, declaration.start)) + code.slice(declaration.start);
  return { meta: meta.output, source, body, isTypeScript };
}

interface ReadProgram {
  readonly program: Program;
  /** The source in JavaScript. */
  readonly code: string;
  readonly isTypeScript: boolean;
}

function programOf(source: string, file: string): ReadProgram {
  try {
    return { program: parsed(source), code: source, isTypeScript: false };
  } catch (error) {
    if (!isScriptMistake(error)) throw error;
    const code = typeless(source, error.pos, file);
    if (code === null) throw syntaxRefused(error, file);
    try {
      return { program: parsed(code), code, isTypeScript: true };
    } catch (second) {
      throw syntaxRefused(second, file);
    }
  }
}

const parsed = (source: string): Program =>
  parse(source, {
    ecmaVersion: "latest",
    sourceType: "module",
    locations: true,
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
  });

/** The parser of types takes a `return` in a function alone. */
const WRAPPER = "async()=>{";

/** Comments and imports of types before `meta`, which leave nothing behind. */
const HEAD = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|import\s+type\s[^;"']*(?:"[^"\n]*"|'[^'\n]*');?)*/;

/** The source without its types; null if it has none. @param mistake where JavaScript stopped */
function typeless(source: string, mistake: number, file: string): string | null {
  const [head = ""] = HEAD.exec(source) ?? [];
  const [word = ""] = /^export(?=\s+(?:const|let|var)\b)/.exec(source.slice(head.length)) ?? [];
  const rest = source.slice(head.length + word.length);
  const plain = withoutImports(head) + blank(word) + rest;
  const wrapped = `${WRAPPER}${plain}\n}`;
  // A mistake in a place that is blank by now is none any more.
  const pos = Math.max(mistake, head.length + word.length) + WRAPPER.length;
  try {
    const stripped = withoutTypes(wrapped, Object.assign(new SyntaxError(""), { pos }));
    const body = stripped?.slice(WRAPPER.length, -2) ?? (plain === source ? null : plain);
    if (body === null) return null;
    return body.slice(0, head.length) + word + body.slice(head.length + word.length);
  } catch (error) {
    if (!(error instanceof CellSyntaxError)) throw error;
    const column = error.line === 1 ? error.column - WRAPPER.length : error.column;
    const at = `${file}:${error.line}:${Math.max(1, column)}`;
    if (/^'import'/.test(error.message)) throw moduleRefused(at);
    throw refused(`${at}: ${error.message.replace("in this cell ", "")}`, error.suggestion ?? "Correct the script.");
  }
}

const withoutImports = (head: string) =>
  head.replace(/(\/\/[^\n]*|\/\*[\s\S]*?\*\/)|import\s+type\s[^;"']*(?:"[^"\n]*"|'[^'\n]*');?/g, (found, comment) =>
    comment === undefined ? blank(found) : found,
  );

/** As many spaces, on as many lines. */
const blank = (code: string) => code.replaceAll(/[^\r\n]/g, " ");

function metaIn(declaration: Node) {
  if (!isVariables(declaration) || declaration.declarations.length !== 1) return null;
  const [declared] = declaration.declarations;
  return declared?.id.type === "Identifier" && declared.id.name === "meta" ? declared : null;
}

type Variables = Extract<Program["body"][number], { type: "VariableDeclaration" }>;
const isVariables = (node: Node): node is Variables => node.type === "VariableDeclaration";

/** The value of a pure literal. */
function literal(node: Expression | SpreadElement, file: string): Json {
  switch (node.type) {
    case "Literal":
      if (typeof node.value === "string" || typeof node.value === "number" || typeof node.value === "boolean") {
        return node.value;
      }
      if (node.raw === "null") return null;
      break;
    case "UnaryExpression": {
      const value = node.operator === "-" ? literal(node.argument, file) : null;
      if (typeof value === "number") return -value;
      break;
    }
    case "TemplateLiteral":
      if (node.expressions.length === 0) return node.quasis[0]?.value.cooked ?? "";
      break;
    case "ArrayExpression":
      return node.elements.map((one) => (one === null ? null : literal(one, file)));
    case "ObjectExpression":
      return Object.fromEntries(node.properties.map((one) => field(one, file)));
    default:
  }
  const suggestion =
    "Write texts, numbers, lists and objects: no variables, calls or spreads, and no values in templates.";
  throw refused(`${place(file, node)}: meta must be a literal`, suggestion);
}

type Member = Extract<Expression, { type: "ObjectExpression" }>["properties"][number];

function field(member: Member, file: string): [string, Json] {
  if (member.type === "Property" && !member.computed && member.kind === "init" && !member.method) {
    const { key, value } = member;
    if (key.type === "Identifier") return [key.name, literal(value, file)];
    if (key.type === "Literal") return [String(key.value), literal(value, file)];
  }
  throw refused(`${place(file, member)}: meta must be a literal`, "Write its fields as `name: value`.");
}

const place = (file: string, { loc }: Node) => `${file}:${loc?.start.line ?? 1}:${(loc?.start.column ?? 0) + 1}`;

const refused = (problem: string, suggestion: string) => new RlmError("invalid_argument", problem, { suggestion });

const moduleRefused = (at: string) =>
  refused(
    `${at}: a workflow has no modules, and exports only meta`,
    "Agents read files and run programs; the script gives its result with `return`.",
  );

function syntaxRefused(error: unknown, file: string): unknown {
  if (!isScriptMistake(error)) return error;
  const loc: { readonly line?: number; readonly column?: number } = Object("loc" in error ? error.loc : null);
  const why = error.message.replace(/ \(\d+:\d+\)$/, "");
  const problem = `${file}:${loc.line ?? 1}:${(loc.column ?? 0) + 1}: ${why}`;
  return refused(problem, "Correct the script; nothing of it has run.");
}
