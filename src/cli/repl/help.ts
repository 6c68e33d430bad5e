import { builtins } from "../../../builtins/index.ts";
import { paragraph } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";

/** The help of a dot-command. */
export interface DotHelp {
  readonly name: string;
  readonly argument: string;
  readonly summary: string;
}

/** `.help`: every dot-command and the signature of every builtin. */
export function overview(commands: readonly DotHelp[]): string {
  const listed = commands.map(({ name, argument, summary }) => `  ${`.${name} ${argument}`.padEnd(17)}${summary}`);
  const signatures = builtins.flatMap(({ signature }) =>
    signature.split("\n").map((line) => `  ${line.replace(/^(function|const) /, "")}`),
  );
  return `${listed.join("\n")}

Everything else is JavaScript. Its builtins:
${signatures.join("\n")}

.help NAME explains one. Code with an open bracket goes on in the next line; two empty lines run it as it is.
`;
}

/** `.help NAME`. Returns false if neither a builtin nor a command has this name. */
export function describe(name: string, commands: readonly DotHelp[], output: Output): boolean {
  const builtin = builtins.find((known) => known.name === name.replace(/[.(].*$/s, ""));
  const command = commands.find((known) => `.${known.name}` === name || known.name === name);
  if (builtin) {
    const { signature, summary, types, example } = builtin;
    const parts = [signature, paragraph(summary, output.columns), ...(types ? [types] : [])];
    output.write(`${parts.join("\n\n")}\n\nexample:\n${example.replace(/^/gm, "  ")}\n`);
  } else if (command) {
    output.write(`.${command.name} ${command.argument}  ${command.summary}\n`);
  }
  return builtin !== undefined || command !== undefined;
}

/** Names that `.help` knows. */
export function helpNames(commands: readonly DotHelp[]): string[] {
  return [...builtins, ...commands].map(({ name }) => name);
}
