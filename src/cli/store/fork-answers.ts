import { LIMITS } from "../../../runtime/index.ts";
import { type Json, RlmError } from "../../index.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { exactJson } from "../../platform/cell-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { inLine } from "../../platform/visible.ts";
import type { GivenAnswer } from "../../session/index.ts";
import type { ForkFlags } from "../commands/fork.ts";
import { commandLine, UsageError } from "../flags/usage.ts";

/** The answers that --answer and --skip give by hand. @throws UsageError, RlmError `invalid_argument` */
export function givenAnswers({ answer = [], skip = [] }: Pick<ForkFlags, "answer" | "skip">): readonly GivenAnswer[] {
  return [...answer.map(answerIn), ...skip.map((call) => ({ call, skip: true }))];
}

function answerIn(typed: string): GivenAnswer {
  const at = typed.indexOf("=");
  if (at < 1) {
    const problem = `--answer is ${inLine(typed)}: it takes CALL=JSON, such as 3='"yes"'`;
    throw new UsageError(problem, commandLine(["help", "fork"]));
  }
  const call = typed.slice(0, at);
  const text = typed.slice(at + 1);
  return { call, value: valueIn(call, text.startsWith("@") ? textOf(text.slice(1)) : text) };
}

function valueIn(call: string, text: string): Json {
  try {
    return exactJson(text);
  } catch (error) {
    throw new RlmError("invalid_argument", `the answer of call ${call} cannot be read as JSON: ${messageOf(error)}`, {
      suggestion: `Put a text, and the digits of a large number, into double quotes, and all of it into single ones for the shell: --answer ${call}='"yes"'.`,
    });
  }
}

function textOf(file: string): string {
  const read = readBoundedFile(file, { maxBytes: LIMITS.sourceBytes, followsLink: true });
  if (read && "text" in read) return read.text.replace(/^\ufeff/, "");
  throw new RlmError("invalid_argument", `${inLine(file)} ${read?.problem ?? "does not exist"}`, {
    suggestion: "Name a file that has the answer as JSON: --answer CALL=@FILE.",
  });
}
