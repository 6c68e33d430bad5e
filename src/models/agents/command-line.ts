import type { Json } from "../../../runtime/index.ts";
import type { AgentCommand } from "../../platform/agent-commands.ts";
import { nativeSchema } from "../schema/native.ts";

/** The parts of a call that words of a command may name. */
export interface CallParts {
  readonly prompt: string;
  readonly model: string | null;
  readonly effort: string | null;
  /** JSON. */
  readonly schema: string | null;
}

/** Paths of files with parts of a call. */
interface PartFiles {
  readonly prompt: string;
  readonly schema: string;
}

/** The program and its arguments: words of the user's, filled with the parts of the call. */
export function wordsOf(command: AgentCommand, parts: CallParts, files: PartFiles): string[] {
  const { prompt, model, effort, schema } = parts;
  const usd = command.max_usd === undefined ? null : String(command.max_usd);
  const added = command.with ?? {};
  const words = [
    ...command.command,
    ...(model === null ? [] : (added.model ?? [])),
    ...(effort === null ? [] : (added.effort ?? [])),
    ...(schema === null ? [] : (added.schema ?? [])),
    ...(usd === null ? [] : (added.usd ?? [])),
  ];
  const values: Readonly<Record<string, string | null>> = {
    prompt,
    model,
    effort,
    schema,
    usd,
    prompt_file: files.prompt,
    schema_file: files.schema,
  };
  return words.map((word) => noOption(word, filled(word, values)));
}

/** All at once: what a part has in braces stays as it is. */
function filled(word: string, values: Readonly<Record<string, string | null>>): string {
  return word.replaceAll(
    /\{([a-z_]+)\}/g,
    (whole, name) => (Object.hasOwn(values, name) ? values[name] : null) ?? whole,
  );
}

/** A word that begins with a part must not become an option by it. */
function noOption(word: string, whole: string): string {
  return whole.startsWith("-") && !word.startsWith("-") ? `\n${whole}` : whole;
}

/**
 * The JSON of a schema as a command gets it, whose program hands it to a provider; null: no provider
 * takes such a schema, and the prompt alone states it.
 */
export function schemaWord(schema: Json): string | null {
  const native = nativeSchema(schema, { requiresAll: true, isClosed: true, takesPlain: false });
  return native && JSON.stringify(native);
}

/** True if a word of the command has the prompt. It is then not sent to stdin. */
export function isPromptInWords({ command, with: added = {} }: AgentCommand): boolean {
  const { model, effort, schema, usd } = added;
  return [command, model, effort, schema, usd].some((words) => words?.some((word) => word.includes("{prompt}")));
}

/** The most that a word may get from a call: the system takes 128 KB. */
const MOST_WORD_BYTES = 100_000;

/** Models and levels of effort as they may be in a command: never an option. */
const PLAIN_NAME = /^[A-Za-z0-9][\w.:/@+-]{0,99}$/;

/** The reason why a call cannot be made with a command. null: it can. */
export function problemOf(command: AgentCommand, { prompt, model, effort, schema }: CallParts): string | null {
  for (const [name, value] of [
    ["model", model],
    ["effort", effort],
  ] as const) {
    if (value !== null && !PLAIN_NAME.test(value)) {
      const shown = JSON.stringify(value.slice(0, 100));
      return `${name}: ${shown} must be a name of at most 100 letters, digits and . : / @ + - _`;
    }
  }
  const inWords: readonly (readonly [string, string | null])[] = [
    ["prompt", isPromptInWords(command) ? prompt : null],
    ["schema", command.with?.schema?.some((word) => word.includes("{schema}")) ? schema : null],
  ];
  for (const [name, value] of inWords) {
    const bytes = value === null ? 0 : Buffer.byteLength(value);
    if (bytes > MOST_WORD_BYTES)
      return `${name}: ${bytes} bytes, and an argument of this command takes ${MOST_WORD_BYTES}: let it read {${name}_file}`;
    if (value?.includes("\0")) return `${name}: it has a NUL character, which no argument can have`;
  }
  return null;
}
