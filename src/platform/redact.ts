/** Keys by their form: `kept` stands before one and stays. Each pattern takes linear time, since guests and models write the texts. */
const KEYS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /(?<![A-Za-z0-9-])sk-[\w-]{16,}/g,
  /(?<![A-Za-z0-9])(?:gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_\w{16,})/g,
  /(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9-])xox[a-z]-[\w-]{10,}/g,
  /(?<![A-Za-z0-9-])AIza[\w-]{30,}/g,
  // A JSON Web Token: two parts of JSON and a signature.
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/g,
  /(?<kept>:\/\/[^\s/:@]{0,256}:)(?!\[redacted)[^\s/@]{1,256}(?=@)/g,
  /(?<kept>\bBearer[ \t]{1,4})(?!\[redacted)[\w.~+/=-]{16,}/gi,
  /(?<kept>(?<![a-z0-9])(?:pass(?:word|wd|phrase)|(?:api|access|auth|client|private|secret)[_-]?(?:key|token|secret)|secret)\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?)(?!\[redacted)[^\s"',;&\\]{4,}/gi,
];

/** A name whose whole value is a key. */
const NAME =
  /^(?:.*[_-])?(?:pass(?:word|wd|phrase)|(?:api|access|auth|client|private|secret)[_-]?(?:key|token|secret)|secret)$/i;

/** The text with `[redacted: 51 characters]` instead of each key in a known form. */
export function redacted(text: string): string {
  return KEYS.reduce((left, pattern) => {
    return left.replace(pattern, (found: string, ...rest: unknown[]) => {
      const { kept = "" }: { readonly kept?: string } = Object(rest.at(-1));
      return kept + stub(found.slice(kept.length));
    });
  }, text);
}

/** A value of JSON in which all texts are redacted, and the names of fields too. */
export function redactedIn<Value>(value: Value): Value;
export function redactedIn(value: unknown): unknown {
  if (typeof value === "string") return redacted(value);
  if (Array.isArray(value)) return value.map((item) => redactedIn(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [redacted(name), inField(name, item)]));
}

function inField(name: string, value: unknown): unknown {
  return typeof value === "string" && value !== "" && NAME.test(name) ? stub(value) : redactedIn(value);
}

const stub = (key: string) => `[redacted: ${key.length} characters]`;

/** A key is not longer, UTF-16 units: that of RSA with 16,384 bits as PEM has 12,700. */
export const LONGEST_KEY = 16_384;

/** The first units of a text, cleaned before the cut, so that no part of a key is left. */
export function redactedStart(text: string, units: number, clean: (text: string) => string = redacted): string {
  return clean(enoughOf(text, units)).slice(0, units);
}

/** So much more of a text than these units that none of its keys is cut in two where it is shown. */
export function enoughOf(text: string, units: number): string {
  const seen = text.slice(0, units + LONGEST_KEY);
  const end = seen.length < text.length ? Math.max(seen.lastIndexOf(" "), seen.lastIndexOf("\n")) : -1;
  return end < units ? seen : seen.slice(0, end);
}

/** The offsets between which keys stand in a text. */
export function keysIn(text: string): (readonly [start: number, end: number])[] {
  return KEYS.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ 0: found, index, groups }) => {
      return [index + (groups?.kept?.length ?? 0), index + found.length] as const;
    }),
  );
}

/** Shorter values are placeholders such as `ollama`, and words of the message. */
const SHORTEST_SECRET = 8;

/** Keys as providers quote them, in part or with stars. Each pattern takes linear time too. */
const QUOTED: readonly RegExp[] = [
  /\b(?:Bearer|Basic)\s{1,8}[\w.~+/=*-]{4,}/gi,
  /\b(?:sk|pk|rk|gsk|xai|hf|fw|pplx|csk)[-_][\w*.-]{6,}/g,
  /\b(?:ghp|gho|ghu|ghs|github_pat)_\w{10,}/g,
  /\bAIza[\w-]{10,}/g,
  /\beyJ[\w-]{10,}(?:\.[\w-]+){0,2}/g,
];

/** Words of a provider without the given secrets and without anything that has the form of a key. */
export function withoutKeys(words: string, secrets: readonly string[]): string {
  let clean = words;
  for (const secret of secrets) {
    if (secret.length >= SHORTEST_SECRET) clean = clean.replaceAll(secret, "[key]");
  }
  for (const form of QUOTED) clean = clean.replace(form, "[key]");
  return clean;
}
