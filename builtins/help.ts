import { argumentError, type Json } from "../runtime/index.ts";
import { argumentCheck, type Builtin, type Described, optional, string } from "./define.ts";
import { MACHINE_NAMES } from "./machine-names.ts";

const checkArguments = argumentCheck("help", { name: optional(string) });

export const help: Builtin = {
  name: "help",
  signature: "function help(name?: string | Function): string",
  summary:
    "Explains a builtin, by its name or itself: signature, types of options and answers, errors, an example. Without a name it lists the builtins in a line each.",
  example: 'help("peek").split("\\n")[0]',
  errors: { js_error: "there is no builtin of that name" },
  source: new URL("./help.guest.js", import.meta.url),
  host: { "help.text": ({ described }, args) => helpText(described, args) },
};

function helpText(described: readonly Described[], args: readonly Json[]): string {
  const { name } = checkArguments(args);
  const topics = [...described, ...Object.entries(MACHINE_NAMES).map(([key, notes]) => ({ name: key, ...notes }))];
  if (name === undefined) return listed(topics);
  const entry = topics.find((topic) => topic.name === name) ?? topics.find((topic) => isMember(topic, name));
  if (entry) return explained(entry);
  throw argumentError(
    "RangeError",
    `help: there is no builtin ${JSON.stringify(name.slice(0, 80))}`,
    `The builtins are ${topics.map((topic) => topic.name).join(", ")}.`,
  );
}

type Topic = Pick<Described, "name" | "signature" | "summary" | "types" | "errors"> &
  Partial<Pick<Described, "example">>;

function listed(topics: readonly Topic[]): string {
  const lines = topics.map(({ name, summary }) => `${name}: ${summary.split(/(?<=[^.]\.)\s/)[0]}`);
  return [...lines, "", 'help("find") explains one of them.'].join("\n");
}

function explained({ signature, summary, types, errors = {}, example }: Topic): string {
  const codes = Object.entries(errors).map(([code, when]) => `  ${code}: ${when}`);
  const parts = [signature, summary, types, codes.length > 0 && `Errors:\n${codes.join("\n")}`];
  return [...parts, example && `Example:\n${example}`].filter((part) => part).join("\n\n");
}

/** `memory.put`, and `rlm_memory_put`, which does the same. */
function isMember({ name, signature }: Topic, asked: string): boolean {
  const member = asked.replace(/^rlm_(memory)_/, "$1.");
  return signature.split("\n").some((line) => line.startsWith(`${name}.`) && line.startsWith(`${member}(`));
}
