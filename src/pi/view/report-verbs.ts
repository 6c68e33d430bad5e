import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { RlmError } from "../../../runtime/index.ts";
import { errorCode } from "../../platform/errors.ts";
import { amount, size } from "../../platform/figures.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import type { SaidObject } from "../externalize/overview.ts";
import { openInspector } from "./inspector.ts";
import { columns, type Item } from "./item.ts";
import { conversationLine, inspectItems, objectRow, traceItems, traceRecords } from "./report.ts";
import { oneLine } from "./texts.ts";

import { asked, type CommandContext, unknownArgument, type Verb } from "./verb.ts";

const SHOWN = 40;

export const store: Verb = {
  name: "store",
  description: "Objects of the conversation and of P, with what is sent of them; words choose those that have them",
  async run(control, _context, _parts, words) {
    const report = await control.report();
    const { listed, left } = await control.documents();
    const objects = await having(words, [...report.overview.objects.toReversed(), ...listed]);
    const rows = objects.map((object) => objectRow(object).map((cell) => oneLine(cell, 100)));
    const more = rows.length - SHOWN;
    return [
      conversationLine(report),
      ...(rows.length === 0 ? [words === "" ? "nothing was said yet" : `nothing has ${oneLine(words, 60)}`] : []),
      ...columns(rows.slice(0, SHOWN)),
      ...(more > 0 ? [`… ${amount(more, "older one")}: /rlm store WORDS looks for some`] : []),
      ...(left > 0 ? [`… ${amount(left, "further document")} of P: list_docs(PREFIX) in a cell lists them`] : []),
    ].join("\n");
  },
};

/** Those with each of the words, in their texts or in what stands in their rows. */
async function having<T extends Parameters<typeof objectRow>[0] & Pick<SaidObject, "text">>(
  words: string,
  objects: readonly T[],
): Promise<readonly T[]> {
  const wanted = words.toLowerCase().split(/\s+/);
  const found: T[] = [];
  for (const object of words === "" ? [] : objects) {
    const all = `${objectRow(object).join(" ")} ${object.text()}`.toLowerCase();
    if (wanted.every((word) => all.includes(word))) found.push(object);
    // A context may be large, and Pi continues meanwhile.
    await setImmediate();
  }
  return words === "" ? objects : found;
}

export const inspect: Verb = {
  name: "inspect",
  description: "Epochs, sub-calls and objects, to look into",
  async run(control, context, { now }, argument) {
    if (argument !== "") throw unknownArgument("inspect", argument);
    const report = await control.report();
    const items = inspectItems(report, now());
    const isShown = context.hasUI && (await showOverlay(items, context));
    return isShown ? null : bounded(items).join("\n");
  },
};

/** Text goes where a person can scroll, or into a file, but hardly to its two thousandth line. */
const LINES_OF_TEXT = 200;

function bounded(items: readonly Item[]): string[] {
  const more = items.length - LINES_OF_TEXT;
  return [textOf(items.slice(0, LINES_OF_TEXT)), ...(more > 0 ? [`… ${amount(more, "more line")}`] : [])];
}

/** Items as text, indented. */
function textOf(items: readonly Item[]): string {
  return items
    .map(({ depth, style, text }) => (style === "heading" ? text : `${"  ".repeat(depth)}${text}`))
    .join("\n");
}

/** Answers false if there is no terminal: Pi then never asks for what is to be drawn. */
async function showOverlay(items: readonly Item[], { ui }: CommandContext): Promise<boolean> {
  let isDrawn = false;
  await ui.custom<void>(
    (tui, paint, _keys, done) => {
      isDrawn = true;
      return openInspector("RLM inspector", items, paint, {
        rows: () => Math.floor(tui.terminal.rows * PART_OF_SCREEN),
        redraw: () => tui.requestRender(),
        close: () => done(),
      });
    },
    { overlay: true, overlayOptions: { width: "100%", anchor: "bottom-center" } },
  );
  return isDrawn;
}

const PART_OF_SCREEN = 0.9;

const JSONL = "--jsonl";

export const trace: Verb = {
  name: "trace",
  description: "Epochs, compactions, and each sub-call under what made it",
  option: { argument: JSONL, description: "Write it to a file, with prompts and answers" },
  async run(control, context, { now }, argument) {
    const isFile = argument.split(" ", 1)[0] === JSONL;
    if (argument !== "" && !isFile) throw unknownArgument("trace", argument, `${JSONL} FILE`);
    if (argument === "") {
      const report = await control.report();
      return [conversationLine(report), ...bounded(traceItems(report, now()))].join("\n");
    }
    const { rest, isSure } = asked(argument.slice(JSONL.length));
    if (rest === "")
      throw new RlmError("invalid_argument", "the name of the file is missing", {
        suggestion: "/rlm trace --jsonl FILE",
      });
    const path = resolve(context.cwd, rest);
    if (
      !(await isSure(context, `Write ${oneLine(path, 200)}?`, "It will have the prompts and answers of all sub-calls."))
    ) {
      return null;
    }
    const records = traceRecords(await control.report());
    writeNew(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    return `${amount(records.length, "record")} written to ${oneLine(path, 200)}`;
  },
};

const NO_TEXTS = "--no-texts";
const USUAL_PAGE = "rlm-trace.html";
/** The page holds texts of a session: it is its owner's alone. */
const MODE = 0o600;

export const page: Verb = {
  name: "view",
  description: "Write the session of this branch as a page for a browser",
  option: { argument: NO_TEXTS, description: "Leave out prompts, answers, code, output and names" },
  async run(control, context, { now }, argument) {
    const { rest, isSure } = asked(argument);
    const words = rest.split(" ");
    const name = words.filter((word) => word !== NO_TEXTS).join(" ");
    const texts = !words.includes(NO_TEXTS);
    const path = resolve(context.cwd, name === "" ? USUAL_PAGE : name);
    const { fileOf, isReplaceable, pageSource } = await import("../../view/index.ts");
    if (!isReplaceable(path)) {
      throw new RlmError("output_failed", `${oneLine(path, 200)} already exists, and is not a page of a session`, {
        suggestion: "Name another file: /rlm view FILE",
      });
    }
    if (texts && !(await isSure(context, `Write ${oneLine(path, 200)}?`, HOLDS))) return null;
    const looked = await control.look(texts, now());
    if (!looked) return "RLM was not used on this branch: there is nothing to show";
    const { trace, damaged } = looked;
    const bytes = await writeResultFile(path, fileOf(trace, await pageSource()), String(process.pid), MODE);
    const facts = [amount(trace.head.calls, "call"), size(bytes), ...(texts ? [] : ["texts left out"])];
    const parts = damaged.length === 0 ? "" : `\n${amount(damaged.length, "part")} of the session cannot be read`;
    return `${oneLine(path, 200)} is written: ${facts.join(", ")}. A browser opens it.${parts}`;
  },
};

const HOLDS =
  "It will have prompts, answers, code, output and passages of P. Keys that are known by their form are redacted.";

/** Writes a file for this user alone. One that exists is not touched. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const code = errorCode(error);
    if (code === "EEXIST") {
      throw new RlmError("output_failed", `${oneLine(path, 200)} already exists`, { suggestion: "Name another file." });
    }
    throw new RlmError("output_failed", `${oneLine(path, 200)} cannot be written (${code})`, {
      suggestion: "Name a file in a folder that exists and can be written.",
      cause: error,
    });
  }
}
