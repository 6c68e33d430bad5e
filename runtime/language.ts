import { argumentError } from "./errors.ts";
import type { Json } from "./protocol.ts";

/**
 * Functions for what the engine lacks of the language and of the web's globals. Guest code in
 * `runtime/guest` calls them by name, and Node's own answer. Each depends on its arguments alone,
 * so that a slice which is run again gets the same.
 */
const LANGUAGE: Readonly<Record<string, (args: readonly Json[]) => Json>> = {
  "String.localeCompare": ([one, other, how]) => collator(how).compare(text(one), text(other)),
  "String.toLocaleUpperCase": ([given, how]) => text(given).toLocaleUpperCase(readHow(how).locales),
  "String.toLocaleLowerCase": ([given, how]) => text(given).toLocaleLowerCase(readHow(how).locales),
  "Number.toLocaleString": ([given, how]) => Number(given).toLocaleString(...inLocale(how)),
  "BigInt.toLocaleString": ([given, how]) => BigInt(text(given)).toLocaleString(...inLocale(how)),
  "Date.toLocaleString": ([time, how]) => new Date(Number(time)).toLocaleString(...inZone(how)),
  "Date.toLocaleDateString": ([time, how]) => new Date(Number(time)).toLocaleDateString(...inZone(how)),
  "Date.toLocaleTimeString": ([time, how]) => new Date(Number(time)).toLocaleTimeString(...inZone(how)),
  "TextEncoder.encode": ([given]) => Buffer.from(text(given)).toString("base64"),
  TextDecoder: ([label]) => new TextDecoder(text(label)).encoding,
  "TextDecoder.decode": ([bytes, how]) => decoded(text(bytes), Object(how)),
  URL: (args) => parsed(args).href,
  "URL.canParse": (args) => URL.canParse(...readUrl(args)),
  "URL.get": ([href, name]) => String(Reflect.get(parsed([text(href)]), text(name))),
  "URL.set": ([href, name, value]) => changed(text(href), text(name), text(value)),
};

/**
 * Methods of URLSearchParams, each over a query: the value that it gives, and the query if it is
 * another one then.
 */
const OF_PARAMS: Readonly<Record<string, (params: URLSearchParams, args: readonly string[]) => unknown>> = {
  append: (params, [name = "", value = ""]) => params.append(name, value),
  delete: (params, [name = "", value]) => params.delete(name, value),
  getAll: (params, [name = ""]) => params.getAll(name),
  has: (params, [name = "", value]) => params.has(name, value),
  set: (params, [name = "", value = ""]) => params.set(name, value),
  sort: (params) => params.sort(),
  text: (params) => params.toString(),
  entries: (params) => [...params],
};

/**
 * Answers a call of the guest.
 *
 * @throws RlmError for what Node's own would refuse, by the same class
 */
export function answerOfLanguage(name: string, args: readonly Json[]): Json {
  const what = name.slice(name.indexOf(".") + 1);
  try {
    if (name.startsWith("URLSearchParams.")) return withParams(what, args);
    return LANGUAGE[name]?.(args) ?? null;
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    const kind = error instanceof RangeError ? "RangeError" : "TypeError";
    const message = error.message.startsWith("Invalid URL") ? error.message : `${what}: ${error.message}`;
    throw argumentError(kind, message, `Correct the arguments of ${what}.`);
  }
}

const text = (value: Json | undefined) => String(value ?? "");

/** Locales and options as a cell gave them. */
interface How {
  readonly locales: string | string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Node falls back on the host's own locale for one that it does not know, and a cell must not
 * depend on its host.
 *
 * @throws RangeError for a locale that is not known
 */
function readHow(how: Json | undefined): How {
  const { locales = [], options = {} }: Partial<How> = Object(how);
  if (JSON.stringify([locales, options]).length > MOST_UNITS) throw new RangeError("the options are too long");
  const canonical = Intl.getCanonicalLocales(locales);
  if (canonical.length === 0) return { locales: "en-US", options };
  const known = Intl.DateTimeFormat.supportedLocalesOf(canonical);
  if (known.length === 0) throw new RangeError(`the locale ${canonical.join(", ")} is not known here`);
  return { locales: known, options };
}

const MOST_UNITS = 10_000;

function inLocale(how: Json | undefined): [locales: string | string[], options: How["options"]] {
  const { locales, options } = readHow(how);
  return [locales, options];
}

function inZone(how: Json | undefined): [locales: string | string[], options: How["options"]] {
  const { locales, options } = readHow(how);
  return [locales, { timeZone: "UTC", ...options }];
}

let lastCollator: { readonly key: string; readonly collator: Intl.Collator } | undefined;

/**
 * A sort compares with the same options again and again, and a collator takes longer to make than
 * to use.
 */
function collator(how: Json | undefined): Intl.Collator {
  const key = JSON.stringify(how);
  if (lastCollator?.key !== key) lastCollator = { key, collator: new Intl.Collator(...inLocale(how)) };
  return lastCollator.collator;
}

interface Decoding {
  readonly encoding?: string;
  readonly fatal?: boolean;
  readonly ignoreBOM?: boolean;
  readonly stream?: boolean;
}

function decoded(bytes: string, { encoding, fatal = false, ignoreBOM = false, stream = false }: Decoding): string {
  return new TextDecoder(encoding, { fatal, ignoreBOM }).decode(Buffer.from(bytes, "base64"), { stream });
}

function readUrl([href, base]: readonly Json[]): [href: string, base?: string] {
  return base === undefined ? [text(href)] : [text(href), text(base)];
}

function parsed(args: readonly Json[]): URL {
  const [href, base] = readUrl(args);
  if (href.length > URL_UNITS) throw new TypeError(`a URL has at most ${URL_UNITS} characters`);
  const url = URL.parse(href, base);
  if (!url) throw new TypeError(`Invalid URL: ${href.slice(0, 200)}`);
  return url;
}

const URL_UNITS = 1_000_000;

const WRITABLE = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

function changed(href: string, name: string, value: string): string {
  if (name === "href") return parsed([value]).href;
  const url = parsed([href]);
  if (WRITABLE.includes(name)) Reflect.set(url, name, value);
  return url.href;
}

function withParams(method: string, [query, args]: readonly Json[]): Json {
  const params = new URLSearchParams(text(query));
  const value = OF_PARAMS[method]?.(params, Array.isArray(args) ? args.map(text) : []);
  const isChange = ["append", "delete", "set", "sort"].includes(method);
  return { value: JSON.parse(JSON.stringify(value ?? null)), query: isChange ? params.toString() : null };
}
