import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../scripts/process.ts";
import type { SmallContext } from "../src/context/context.ts";
import { load } from "../src/context/load/load.ts";
import {
  inputs,
  type ReadInput,
  readIn,
  type Statement,
  statements,
  wrongIn,
} from "../tests/src/documents/corpus/statements.ts";
import type { Corpus } from "./corpus.ts";
import { hasPython, PYTHON } from "./python.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

/** In Python. */
const MARKITDOWN = "markitdown";
const PEERS = fileURLToPath(new URL("./peers", import.meta.url));
const ENGINES = ["officeparser", "mammoth", MARKITDOWN] as const;

/** The right statements, by kind, in the smallest form of one kind: of Belay, and of engines that are installed in bench/peers. */
export async function rightStatements(corpus: Corpus): Promise<Pick<Report, "notes" | "aims">> {
  const from = corpus.scratch();
  const all = Object.entries(statements());
  const kinds = all.slice(0, size(all.length, 1));
  const files = new Set(kinds.flatMap(([, said]) => said.map(({ file }) => file)));
  for (const [name, bytes] of Object.entries(inputs())) if (files.has(name)) writeFileSync(join(from, name), bytes);
  const belay = await load({ kind: "path", path: from }, { cwd: from, roots: [from] });
  const installed = ENGINES.filter((engine) =>
    engine === MARKITDOWN ? hasPython() : existsSync(join(PEERS, "node_modules", engine)),
  );
  const others = await Promise.all(
    installed.map(async (engine) => ({ engine, read: await readBy(engine, from, corpus) })),
  );
  const [notes, sum]: [string[], Count] = [[], { right: 0, of: 0 }];
  for (const [kind, said] of kinds) {
    const judge: Judge = (statement) => wrongIn(statement, readIn(belay, statement.file));
    const own = counted(said, judge);
    sum.right += own.right;
    sum.of += own.of;
    const ofText = said.flatMap((statement) => aboutText(statement) ?? []);
    const theirs = [{ engine: "Belay", read: judge }, ...others].map(({ engine, read }) => {
      return `${engine} ${shown(counted(ofText, read), ofText.length)}`;
    });
    const beside = others.length > 0 ? `; of ${ofText.length} about the text alone: ${theirs.join(", ")}` : "";
    notes.push(`right statements about ${kind}: ${own.right} of ${own.of}${beside}`);
  }
  const missing = ENGINES.filter((engine) => !installed.some((name) => name === engine));
  if (missing.length > 0) {
    notes.push(
      `not in bench/peers: ${missing.join(", ")}. \`npm run bench -- peers documents\` installs and compares.`,
    );
  }
  if (others.length > 0) {
    notes.push(
      "Others are asked for text alone, of which they give HTML that Belay reads; indents and signs between cells do not count for them.",
    );
  }
  const value = `${sum.right} of ${sum.of}`;
  return { notes, aims: [{ text: "all statements about documents are right", value, met: sum.right === sum.of }] };
}

interface Count {
  right: number;
  of: number;
}

/** Says what is wrong with a statement; null if the engine does not read the input's kind. */
type Judge = (statement: Statement) => string | undefined | null;

/** `of` is the number of statements about kinds that the engine reads. */
function counted(said: readonly Statement[], judge: Judge): Count {
  const found = said.map(judge).filter((problem) => problem !== null);
  return { right: found.filter((problem) => problem === undefined).length, of: found.length };
}

function shown({ right, of }: Count, all: number): string {
  return of === 0 ? "−" : of === all ? String(right) : `${right} of ${of}`;
}

/** The statement about the text alone; undefined if it is about places and losses. */
function aboutText({ place: _, lost: __, isWhole: ___, refused, ...said }: Statement): Statement | undefined {
  const { has, hasNot, line, matches, order, once } = said;
  const isText = [has, hasNot, line, matches, order, once].some((part) => part !== undefined);
  return isText && refused === undefined ? said : undefined;
}

/** Lets an engine read all inputs, and judges its texts. */
async function readBy(engine: string, from: string, { scratch }: Corpus): Promise<Judge> {
  const to = scratch();
  const [program, ...args] = engine === MARKITDOWN ? [PYTHON, "readers.py"] : [process.execPath, "readers.js", engine];
  await run(program, [...args, from, to], { cwd: PEERS });
  const made = readdirSync(to);
  const context = made.length > 0 ? await load({ kind: "path", path: to }, { cwd: to, roots: [to] }) : undefined;
  const kinds = new Set(made.map((name) => extname(name.slice(0, -extname(name).length))));
  return (statement) => {
    if (!context || !kinds.has(extname(statement.file))) return null;
    return wrongIn(alikeStatement(statement), textIn(context, statement.file));
  };
}

function textIn(context: SmallContext, name: string): ReadInput {
  const read = readIn(context, `${name}.html`);
  return { ...read, text: alike(read.text), lost: [] };
}

/** A text without indents, and with one sign between cells. */
function alike(text: string): string {
  return text.replace(/^[^\S\n]+/gmu, "").replace(/ \| |\t/gu, " | ");
}

function alikeStatement(statement: Statement): Statement {
  const { has, hasNot, line, order, once } = statement;
  return {
    ...statement,
    ...(has === undefined ? {} : { has: [has].flat().map(alike) }),
    ...(hasNot === undefined ? {} : { hasNot: [hasNot].flat().map(alike) }),
    ...(line === undefined ? {} : { line: alike(line) }),
    ...(order === undefined ? {} : { order: order.map(alike) }),
    ...(once === undefined ? {} : { once: alike(once) }),
  };
}
