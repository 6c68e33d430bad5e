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
