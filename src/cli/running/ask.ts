import { unreadSentence } from "../../context/index.ts";
import { type AskEnvelope, type Json, RlmError } from "../../index.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { exactJson } from "../../platform/cell-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { checkResultFile } from "../../platform/result-file.ts";
import { inLine } from "../../platform/visible.ts";
import { checkSchema, coverageSentence, limitName } from "../../session/index.ts";
import type { AskFlags } from "../commands/ask.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { questionOf } from "../input/sources.ts";
import { showAsk, showTrajectory } from "../render/ask.ts";
import { waitLines } from "../render/calls.ts";
import { limitFlag } from "../render/warnings.ts";
import { envelopeInFlags } from "../render/wording.ts";
import { type InSession, inSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";
import { isToGoOn } from "./reports.ts";
import { failedCode, INCOMPLETE, signalsOf } from "./run-cells.ts";

/** `belay ask`: brings in the contexts and lets a model answer one question about them. */
export function askCommand(args: Arguments, host: Host, own: AskFlags): Promise<number> {
  const { schema: file, view, ...options } = own;
  return inSession(args, host, "ask", async (parts) => {
    const { stop, open, isJson } = parts;
    const question = questionOf(args, "ask", parts.flags);
    // With a wrong schema loading would be for nothing.
    const schema = file === undefined ? {} : { schema: await schemaIn(file) };
    if (view) await checkPage(view);
    const work = { kind: "ask", input: question } as const;
    // --trajectory tells at the end what --verbose would tell now.
    const opened = await open({
      asked: work,
      needsModel: true,
      subModel: own.subModel,
      tellsTurns: isJson || !args.get(OUTPUT_FLAGS.trajectory),
    });
    const page = view === undefined ? null : (await pageFiles()).openAskPage(view, opened);
    const signals = signalsOf(opened, stop);
    opened.progress.begin();
    const asking = { ...signals, ...opened.waiting, trajectory: args.get(OUTPUT_FLAGS.trajectory) };
    const resumed = opened.isBegun ? await opened.session.resume(asking) : null;
    const answer =
      resumed?.kind === "ask"
        ? resumed.envelope
        : await opened.session.ask(question, { ...options, ...schema, ...asking });
    opened.progress.end(!isOpen(answer));
    // An object that is printed tells the file only if it is there.
    const early = page && isJson && !isOpen(answer) ? await page.write(parts.terminal) : null;
    const code = endOfAsk(answer, opened, parts, early ? page?.file : undefined);
    if (!page || stop.exitCode === 0) return code;
    if (isOpen(answer)) {
      const later = opened.lineAbout(["view"], "-o", page.file);
      const why = "is not written, since the ask is not over; when it is";
      parts.terminal.stderr.write(`${inLine(page.file)} ${why}: ${later}\n`, "yellow");
      return code;
    }
    return (early ?? (await page.write(parts.terminal))) ? code : code || 1;
  });
}

/**
 * Refuses a file that could not be written, before anything is paid for.
 *
 * @throws UsageError, RlmError `output_failed`
 */
async function checkPage(file: string): Promise<void> {
  if (file === "-") throw new UsageError("--view takes a file: stdout has the answer", commandLine(["help", "ask"]));
  const { checkPageFile } = await pageFiles();
  checkPageFile(file, commandLine(["help", "ask"]));
  checkResultFile(file);
}

/** Loaded if a page is wanted. */
const pageFiles = () => import("../store/page-file.ts");

/**
 * Tells how an ask ended. Gives the exit code.
 *
 * @param page the file of its page, which is written once the ask has ended
 */
export function endOfAsk(answer: AskEnvelope, opened: CliSession, parts: InSession, page?: string): number {
  const { terminal, stop, isJson, flags } = parts;
  // The reader of stdout has gone: there is no reader to report to.
  if (stop.exitCode === 0) return 0;
  const isLeftOpen = opened.kept !== null && isOpen(answer);
  const resume = opened.resumeCommand();
  if (isJson) {
    const envelope = page === undefined || isOpen(answer) ? answer : { ...answer, page };
    const fields = isLeftOpen ? { ...envelope, suggestion: `\`${resume}\` goes on with it.`, resume } : envelope;
    terminal.stdout.json(envelopeInFlags(fields));
  } else {
    showTrajectory(answer, terminal.stderr);
    const isSuspended = isLeftOpen && !answer.success && isToGoOn(answer);
    if (!isSuspended) showAsk(answer, terminal);
    const how = opened.kept ? opened.lineAbout(["show"], "--unread") : "";
    const last = isSuspended ? "" : lastLine(answer, how, flags.quiet);
    if (last !== "") terminal.stderr.write(`${last}\n`, answer.limits_met.length > 0 ? "yellow" : "dim");
    if (isSuspended) for (const line of waitLines(answer.waits ?? [], Date.now())) terminal.stderr.write(`${line}\n`);
    if (isLeftOpen) terminal.stderr.write(`suspended; continue with: ${resume}\n`, "yellow");
  }
  return stop.exitCode ?? askCode(answer);
}

/** The exit code of an ask. One that has ended and met a limit has not all that was asked for. */
function askCode(answer: AskEnvelope): number {
  if (answer.limits_met.length > 0 && !isOpen(answer)) return INCOMPLETE;
  return answer.success ? 0 : failedCode(answer);
}

/**
 * The last line of an ask, which says what its answer does not rest on.
 *
 * @param how the command that lists it
 */
function lastLine(answer: AskEnvelope, how: string, isQuiet: boolean): string {
  const { coverage, skipped, limits_met } = answer;
  const limits = limits_met.length === 0 || isOpen(answer) ? null : limitsLine(limits_met);
  const read = coverage && !isQuiet ? coverageSentence(coverage, how) : null;
  const unread = skipped && unreadSentence(skipped, how);
  return [limits, read, unread].filter((sentence) => sentence !== null).join(" ");
}

/**
 * `Limits met: sub-calls (--max-sub-calls), turns (--max-turns); what they kept from being asked is
 * not in the answer.`
 */
function limitsLine(limits: readonly string[]): string {
  const named = limits.map((limit) =>
    limit === "functions" ? limitName(limit) : `${limitName(limit)} (${limitFlag(limit)})`,
  );
  return `${limits.length === 1 ? "Limit" : "Limits"} met: ${inLine(named.join(", "))}; what that kept from being asked is not in the answer.`;
}

/** True if the ask can be resumed. */
export const isOpen = (answer: AskEnvelope): boolean => !answer.success && answer.resumable === true;

/** @throws RlmError `path_not_found`, `invalid_argument` */
async function schemaIn(file: string): Promise<Json> {
  const suggestion = "Name a file that holds a JSON Schema.";
  const read = readBoundedFile(file, { maxBytes: SCHEMA_BYTES, followsLink: true });
  if (!read) throw new RlmError("path_not_found", `${file} does not exist`, { suggestion });
  if ("problem" in read) throw new RlmError("invalid_argument", `${file} ${read.problem}`, { suggestion });
  let schema: Json;
  try {
    schema = exactJson(read.text);
  } catch (error) {
    throw new RlmError("invalid_argument", `${file} cannot be read as JSON: ${messageOf(error)}`, { suggestion });
  }
  await checkSchema(schema);
  return schema;
}

const SCHEMA_BYTES = 2 ** 20;
