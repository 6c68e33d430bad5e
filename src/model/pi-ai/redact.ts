/** Shorter values are placeholders such as `ollama`, and words of the message. */
const SHORTEST_SECRET = 8;

/** Keys and tokens by their usual forms: providers quote what they were sent, sometimes in part. */
const KEY_FORMS = [
  /\b(?:Bearer|Basic)\s+[\w.~+/=*-]{4,}/gi,
  /\b(?:sk|pk|rk|gsk|xai|hf|fw|pplx|csk)[-_][\w*.-]{6,}/g,
  /\b(?:ghp|gho|ghu|ghs|github_pat)_\w{10,}/g,
  /\bAIza[\w-]{10,}/g,
  /\beyJ[\w-]{10,}(?:\.[\w-]+){1,2}/g,
];

/** The text without the given secrets and without anything that has the form of a key. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= SHORTEST_SECRET) clean = clean.replaceAll(secret, "[key]");
  }
  for (const form of KEY_FORMS) clean = clean.replace(form, "[key]");
  return clean;
}
