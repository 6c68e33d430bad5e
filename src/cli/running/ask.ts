import { unreadSentence } from "../../context/index.ts";
import { type AskEnvelope, type Json, RlmError } from "../../index.ts";
import { readBoundedFile } from "../../platform/bounded-file.ts";
import { messageOf } from "../../platform/errors.ts";
import { displayName } from "../../platform/ids.ts";
import { jsonText } from "../../platform/visible.ts";
import { checkSchema, coverageSentence } from "../../session/index.ts";
import type { AskFlags } from "../commands/ask.ts";
import type { Arguments } from "../flags/arguments.ts";
import { TRAJECTORY } from "../flags/declared.ts";
import type { Host } from "../host.ts";
import { questionOf } from "../input/sources.ts";
import { limitsLine, showAsk, showTrajectory } from "../render/ask.ts";
import { waitLines } from "../render/waits.ts";
import { envelopeInFlags } from "../render/wording.ts";
import { type InSession, inSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";
import { failedCode, INCOMPLETE, isToGoOn, signalsOf } from "./run-cells.ts";

/** `belay ask`: brings in the contexts and lets a model answer one question about them. Gives the exit code. */
export function askCommand(args: Arguments, host: Host, own: AskFlags): Promise<number> {
  const { schema: file, ...options } = own;
  return inSession(args, host, "ask", async (parts) => {
    const { stop, open, isJson } = parts;
    const question = questionOf(args, "ask", parts.flags);
    // With a wrong schema loading would be for nothing.
    const schema = file === undefined ? {} : { schema: await schemaIn(file) };
    const asked = { kind: "ask", input: question } as const;
    // --trajectory tells at the end what --verbose would tell now.
    const opened = await open({
      asked,
      needsModel: true,
      subModel: own.subModel,
      tellsTurns: isJson || !args.get(TRAJECTORY),
    });
    const signals = signalsOf(opened, stop);
    opened.progress.begin();
    const asking = { ...signals, ...opened.waiting, trajectory: args.get(TRAJECTORY) };
    const resumed = opened.isBegun ? await opened.session.resume(asking) : null;
    const answer =
      resumed?.kind === "ask"
        ? resumed.envelope
        : await opened.session.ask(question, { ...options, ...schema, ...asking });
    opened.progress.end(!isOpen(answer));
    return endOfAsk(answer, opened, parts);
  });
}

/** Tells how an ask ended. Gives the exit code. */
export function endOfAsk(answer: AskEnvelope, opened: CliSession, parts: InSession): number {
  const { terminal, stop, isJson, flags } = parts;
  // The reader of stdout has gone: there is no reader to report to.
  if (stop.exitCode === 0) return 0;
  const isLeftOpen = opened.kept !== null && isOpen(answer);
  const resume = opened.resumeCommand();
  if (isJson) {
    const fields = isLeftOpen ? { ...answer, suggestion: `\`${resume}\` goes on with it.`, resume } : answer;
    terminal.stdout.writeRaw(`${jsonText(envelopeInFlags(fields))}\n`);
  } else {
    showTrajectory(answer, terminal.stderr);
    const isSuspended = isLeftOpen && !answer.success && isToGoOn(answer);
    if (!isSuspended) showAsk(answer, terminal);
    const how = opened.kept ? `belay show ${displayName(opened.session)} --unread` : "";
    const last = isSuspended ? "" : lastLine(answer, how, flags.quiet);
    if (last !== "") terminal.stderr.write(`${last}\n`, answer.limits_met.length > 0 ? "yellow" : "dim");
    if (isSuspended) for (const line of waitLines(answer.waits ?? [], Date.now())) terminal.stderr.write(`${line}\n`);
    if (isLeftOpen) terminal.stderr.write(`suspended; continue with: ${resume}\n`, "yellow");
  }
  return stop.exitCode ?? askCode(answer);
}

/** The exit code of an ask. One that is over and met a limit has not all that was asked for. */
function askCode(answer: AskEnvelope): number {
  if (answer.limits_met.length > 0 && !isOpen(answer)) return INCOMPLETE;
  return answer.success ? 0 : failedCode(answer);
}

/**
 * The last line of an ask, which says what its answer does not rest on. @param how the command that lists it
 */
function lastLine(answer: AskEnvelope, how: string, isQuiet: boolean): string {
  const { coverage, skipped, limits_met } = answer;
  const limits = limits_met.length === 0 || isOpen(answer) ? null : limitsLine(limits_met);
  const read = coverage && !isQuiet ? coverageSentence(coverage, how) : null;
  const unread = skipped && unreadSentence(skipped, how);
  return [limits, read, unread].filter((sentence) => sentence !== null).join(" ");
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
    schema = JSON.parse(read.text);
  } catch (error) {
    throw new RlmError("invalid_argument", `${file} is not valid JSON: ${messageOf(error)}`, { suggestion });
  }
  await checkSchema(schema);
  return schema;
}

const SCHEMA_BYTES = 2 ** 20;
