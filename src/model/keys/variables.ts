/**
 * The variable in which common providers' keys are looked for. pi-ai tells only those that are set; a test compares these
 * with it.
 */
export const KEY_VARIABLES: Readonly<Record<string, string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  google: "GEMINI_API_KEY",
  openrouter: "OPENROUTER_API_KEY",
  groq: "GROQ_API_KEY",
  mistral: "MISTRAL_API_KEY",
  deepseek: "DEEPSEEK_API_KEY",
  xai: "XAI_API_KEY",
};

/** The variable of the key that a model of a common provider needs; undefined for other providers. */
export function keyVariable(model: string): string | undefined {
  return KEY_VARIABLES[model.slice(0, model.indexOf("/"))];
}

/** Texts that stand for a key where clients configure a server: `${NAME}`, `${env:NAME}`, `{env:NAME}`, `YOUR_KEY` and their like. */
const PLACEHOLDER = /^(?:\$\{(?:env:|input:)?\w+\}|\{env:\w+\}|\$\{\{\s*secrets\.\w+\s*\}\}|YOUR_(?:API_)?KEY)$/;

/**
 * Why the value of a variable is not a key, as a sentence's end: it is what a key was to be put in place of. null if it may
 * be a key.
 */
export function placeholderProblem(value: string): string | null {
  if (!PLACEHOLDER.test(value.trim())) return null;
  if (!/[${]/.test(value)) return `it has the text ${value.trim()}, in place of which the key belongs`;
  return `whoever started this program handed on the text ${value.trim()} as it stands, in place of the variable's value`;
}

/** True if the value of a variable may be a key. */
export function isKey(value: string | undefined): value is string {
  return value !== undefined && value !== "" && placeholderProblem(value) === null;
}
