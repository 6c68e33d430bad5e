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

/** The text with `[redacted: 51 characters]` in the place of each key that is known by its form. */
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
