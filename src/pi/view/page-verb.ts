import { resolve } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import { amount, size } from "../../platform/figures.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { oneLine } from "./texts.ts";
import { asked, type Verb } from "./verb.ts";

const NO_TEXTS = "--no-texts";
const USUAL = "rlm-trace.html";
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
    const path = resolve(context.cwd, name === "" ? USUAL : name);
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
    const facts = [amount(trace.head.calls, "sub-call"), size(bytes), ...(texts ? [] : ["texts left out"])];
    const parts = damaged.length === 0 ? "" : `\n${amount(damaged.length, "part")} of the session cannot be read`;
    return `${oneLine(path, 200)} is written: ${facts.join(", ")}. A browser opens it.${parts}`;
  },
};

const HOLDS =
  "It will have prompts, answers, code, output and passages of P. Keys that are known by their form are redacted.";
