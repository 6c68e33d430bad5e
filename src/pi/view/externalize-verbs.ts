import { RlmError } from "../../../runtime/index.ts";
import { amount, compact } from "../../platform/figures.ts";
import type { Switched } from "../externalize/index.ts";
import type { Control } from "./control.ts";
import { asked, type CommandContext, cancelled, unknownArgument, type Verb, YES } from "./verb.ts";

const COMPACT = "--compact";

/** Subcommands that change what of the conversation is outside. */
export const off: Verb = {
  name: "off",
  description: "Cancel what runs, and take the rlm tools away from the model; nothing is lost",
  option: { argument: COMPACT, description: "Compact the conversation first: the package can be removed" },
  async run(control, context, _parts, argument) {
    if (argument === COMPACT) return leave(control, context);
    if (argument !== "") throw unknownArgument("off", argument, COMPACT);
    const ended = cancelled(control);
    return `${ended === null ? "" : `${ended}. `}${OFF} Its state stays.${WHAT_IS_SENT[control.setEnabled(false)]}`;
  },
};

const OFF = "RLM is off: on this branch the model is not offered its tools until /rlm on.";

const WHAT_IS_SENT: Readonly<Record<Switched, string>> = {
  nothing: "",
  raw: " Old objects are sent whole again; rlm_peek and rlm_search stay, should they no longer fit.",
  stubs:
    " Old objects stay stubs, because they would not fit into the model's window; rlm_peek and rlm_search stay to read them. " +
    `/rlm off ${COMPACT} makes a summary of them instead.`,
};

async function leave(control: Control, { isIdle, compact: compactIn }: CommandContext): Promise<string> {
  if (!isIdle()) {
    const suggestion = "Wait until it has finished, or press Esc.";
    throw new RlmError("exec_running", "the model is answering", { suggestion });
  }
  const { compacted, is } = await control.leave((options) => compactIn(options));
  const done = compacted
    ? "The conversation is compacted; its old objects stay in Pi's session file."
    : "There was nothing to compact.";
  const rest =
    is === "stubs"
      ? " What Pi keeps of it does not fit into the model's window whole: stubs and rlm_peek and rlm_search stay."
      : " All else is Pi's: the package can be removed.";
  return `${OFF} ${done}${rest}`;
}

export const externalize: Verb = {
  name: "externalize",
  description: "Have old objects of the conversation go outside now",
  run(control, _context, _parts, argument) {
    if (argument !== "") throw unknownArgument("externalize", argument);
    const done = control.externalize();
    if (done.is === "out") {
      const objects = `${amount(done.objects, "object")} of the conversation ${done.objects === 1 ? "is" : "are"} outside`;
      return `${objects}; the next request is ~${compact(done.tokens)} tokens smaller`;
    }
    return NOTHING_OUT[done.is];
  },
};

const NOTHING_OUT = {
  nothing: "Nothing more can go outside: objects are small, or belong to the last prompt and answer.",
  off: "RLM is off on this branch: /rlm on has objects go outside again.",
  no_model: "Pi has no model yet: choose one with /model.",
} as const;

export const clear: Verb = {
  name: "clear",
  description: "Have all objects of the conversation sent again",
  async run(control, context, _parts, argument) {
    const { rest, isSure } = asked(argument);
    if (rest !== "") throw unknownArgument("clear", rest, YES);
    if (!(await isSure(context, "Send all objects of the conversation again?", WHAT_CLEAR_COSTS))) return null;
    const done = control.clear();
    if (done.is === "nothing") return "Nothing of the conversation is outside.";
    if (done.is === "cleared") return `${amount(done.objects, "object")} of the conversation will be sent whole again.`;
    const size = `the conversation has ~${compact(done.tokens)} tokens with all its objects`;
    throw done.is === "too_large"
      ? new RlmError("context_too_large", `${size}, and a request may have ${compact(done.most)}`, {
          suggestion: `/rlm off ${COMPACT} makes a summary of them; a model with a larger window can be chosen with /model.`,
        })
      : new RlmError("context_too_large", `${size}: they would go outside again with the next request`, {
          suggestion: "/rlm off has them sent, and no more go outside on this branch.",
        });
  },
};

const WHAT_CLEAR_COSTS =
  "The next request is larger, and the provider has nothing of it in its cache. Nothing is deleted.";
