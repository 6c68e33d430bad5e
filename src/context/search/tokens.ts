/**
 * Part of the name of an index file: any change of its form, of its parts, or of what `tokensOf`,
 * `stemOf` or `chunksIn` give, must raise it.
 */
export const INDEX_FORMAT = 5;

/** More parts than this make a hash or base64, not a name: it is indexed whole only. */
export const MAX_PARTS = 16;

const NON_ASCII = /[\u0080-\uffff]/;
const LATIN_MARKS = /[\u0300-\u036f\ufe00-\ufe0f]/g;
let made: RegExp | undefined;
/**
 * Scripts whose words are not, or not reliably, set apart by spaces. To make the pattern takes up to
 * 5 ms, which threads that search nothing need not wait for.
 */
function unspaced(): RegExp {
  made ??=
    /[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]&&[\p{L}\p{M}\p{N}]]+/gv;
  return made;
}
const NON_ASCII_NON_WORD = /(?![\0-\u007f])[^\p{L}\p{M}\p{N}]/gu;

const TOKEN = /[a-z0-9\u0080-\uffff]+/g;
/** Places where a name has a joint: `eH`, `PRe`, `p2`, `2s`, `x_y`, `x-y`. */
const JOINT =
  /[a-z0-9\u0080-\uffff][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z\u0080-\uffff][0-9]|[0-9][a-z\u0080-\uffff]|[A-Za-z0-9\u0080-\uffff][_-][A-Za-z0-9\u0080-\uffff]/g;
const PART = /[A-Z]+(?![a-z\u0080-\uffff])[0-9]*|[A-Z]?[a-z\u0080-\uffff]+[0-9]*|[0-9]+/g;
const DIGITS = /[0-9]/;

/**
 * The words of a text, lower case, without Latin, Greek and Cyrillic diacritics, in no particular
 * order. A name gives itself and its parts: `parseHTTPRequest` →
 * `parsehttprequest parse http request`; `max_bytes` and `max-bytes` → `max bytes maxbytes`. Runs
 * of Chinese, Japanese, Korean and Thai give their characters and pairs.
 */
export function tokensOf(text: string): string[] {
  return indexForm(text).match(TOKEN) ?? [];
}

/** The text that holds `tokensOf(text)` between ASCII characters other than letters and digits. */
export function indexForm(text: string): string {
  const folded = fold(text);
  const added: string[] = [];
  for (const { name, words, parts } of names(folded)) {
    if (words > 1) added.push(name);
    added.push(...parts);
  }
  return (added.length === 0 ? folded : `${folded} ${added.join(" ")}`).toLowerCase();
}

/**
 * The distinct terms of a query with their weights. A whole name weighs twice as much as its parts
 * together: BM25 lets repetition more than double a part's worth, and a chunk with the name itself
 * must win over that.
 */
export function queryTerms(query: string): Map<string, number> {
  const terms = new Map(tokensOf(query).map((token) => [token, 1]));
  for (const { name, words, parts } of names(fold(query))) {
    const weight = 2 * (words > 1 ? words + parts.length : parts.length);
    const term = name.toLowerCase();
    if (weight > 0 && term !== "") terms.set(term, Math.max(terms.get(term) ?? 1, weight));
  }
  return terms;
}

function fold(text: string): string {
  if (!NON_ASCII.test(text)) return text;
  return text
    .normalize("NFKD")
    .replace(LATIN_MARKS, "")
    .normalize("NFC")
    .replace(unspaced(), grams)
    .replace(NON_ASCII_NON_WORD, " ");
}

/** True if a word has characters of a script that does not set words apart by spaces. */
export function isUnspaced(word: string): boolean {
  return word.search(unspaced()) >= 0;
}

function grams(run: string): string {
  const characters = [...run];
  const pairs = characters.slice(1).map((character, index) => `${characters[index]}${character}`);
  return ` ${characters.join(" ")} ${pairs.join(" ")} `;
}

/**
 * A name without its `_` and `-`, the number of words that these set apart in it, which are tokens
 * without further ado, and the parts that are not such words.
 */
interface Name {
  readonly name: string;
  readonly words: number;
  readonly parts: string[];
}

/**
 * Names with a joint in a folded text; one in kebab case also gives each name between its hyphens.
 */
function* names(folded: string): Generator<Name> {
  for (const written of jointed(folded)) {
    if (!written.includes("-")) {
      yield nameOf(written);
      continue;
    }
    const segments = written.split("-").map(nameOf);
    yield* segments;
    const words = segments.reduce((sum, segment) => sum + segment.words, 0);
    if (words <= MAX_PARTS) yield { name: segments.map((segment) => segment.name).join(""), words, parts: [] };
  }
}

/**
 * Runs of letters, digits, `_` and `-` around each joint. One pass: the search continues behind the
 * run.
 */
function* jointed(folded: string): Generator<string> {
  let end = 0;
  JOINT.lastIndex = 0;
  for (let hit = JOINT.exec(folded); hit !== null; hit = JOINT.exec(folded)) {
    let start = hit.index;
    while (start > end && isNameUnit(folded.charCodeAt(start - 1))) start -= 1;
    end = hit.index + hit[0].length;
    while (isNameUnit(folded.charCodeAt(end))) end += 1;
    yield folded.slice(start, end);
    JOINT.lastIndex = end;
  }
}

/** True for the code of a letter, a digit, `_` and `-`, and for all that are not ASCII. */
export function isNameUnit(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 95 ||
    unit === 45 ||
    unit >= 128
  );
}

function nameOf(written: string): Name {
  if (!written.includes("_")) return { name: written, words: written === "" ? 0 : 1, parts: partsOf(written) };
  const words = written.split("_").filter((word) => word !== "");
  const parts = words.flatMap(partsOf);
  return words.length > MAX_PARTS
    ? { name: "", words: 0, parts }
    : { name: words.join(""), words: words.length, parts };
}

/**
 * `sha256Sum` → `sha256 sha 256 Sum`; nothing for a word without a joint. Single letters are left
 * out.
 */
function partsOf(word: string): string[] {
  const parts: string[] = [];
  const pieces = word.match(PART);
  if (pieces === null || pieces.length > MAX_PARTS) return parts;
  for (const part of pieces) {
    if (part !== word && (part.length > 1 || isDigit(part, 0))) parts.push(part);
    if (!isDigit(part, part.length - 1) || isDigit(part, 0)) continue;
    const digits = part.search(DIGITS);
    if (digits > 1) parts.push(part.slice(0, digits));
    parts.push(part.slice(digits));
  }
  return parts;
}

function isDigit(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 48 && unit <= 57;
}

/** A stem's ending is changed if the part before it fits. */
type Rule = readonly [ending: string, becomes: string];

const STEP_2: readonly Rule[] = rules(
  "ational:ate tional:tion enci:ence anci:ance izer:ize logi:log bli:ble alli:al entli:ent eli:e ousli:ous ization:ize " +
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble",
);
const STEP_3: readonly Rule[] = rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:");
const STEP_4: readonly Rule[] = rules(
  "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:",
);
/** Shorter and longer words are their own stems, bytes. */
const SHORTEST = 3;
const LONGEST = 64;

/**
 * Porter's stem of a lower-case word, as the tokenizer `porter` of SQLite's FTS5 gives it.
 *
 * @param word its UTF-8, each byte a character
 */
export function stemOf(word: string): string {
  if (word.length < SHORTEST || word.length > LONGEST) return word;
  let stem = singular(word);
  if (stem.endsWith("eed") && stem.length > 3) {
    if (measure(stem.slice(0, -3)) > 0) stem = stem.slice(0, -1);
  } else if (stem.endsWith("ed") && stem.length > 2) stem = withoutPast(stem, 2);
  else if (stem.endsWith("ing") && stem.length > 3) stem = withoutPast(stem, 3);
  if (stem.endsWith("y") && hasVowel(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = replaced(stem, STEP_2, (before) => measure(before) > 0);
  stem = replaced(stem, STEP_3, (before) => measure(before) > 0);
  stem = replaced(stem, STEP_4, (before, ending) => measure(before) > 1 && (ending !== "ion" || /[st]$/.test(before)));
  if (stem.endsWith("e")) {
    const before = stem.slice(0, -1);
    const count = measure(before);
    if (count > 1 || (count === 1 && !isShort(before))) stem = before;
  }
  return stem.endsWith("ll") && measure(stem.slice(0, -1)) > 1 ? stem.slice(0, -1) : stem;
}

function rules(listed: string): Rule[] {
  return listed.split(" ").map((rule) => {
    const [ending = "", becomes = ""] = rule.split(":");
    return [ending, becomes];
  });
}

function singular(word: string): string {
  if (!word.endsWith("s") || word.endsWith("ss")) return word;
  const ies = (word.length > 4 && word.endsWith("sses")) || (word.length > 3 && word.endsWith("ies"));
  return word.slice(0, ies ? -2 : -1);
}

function withoutPast(word: string, ending: number): string {
  const stem = word.slice(0, -ending);
  if (!hasVowel(stem)) return word;
  if (stem.length > 2 && /(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  const last = stem.at(-1) ?? "";
  if (last === stem.at(-2) && !/[aeioulsz]/.test(last)) return stem.slice(0, -1);
  return measure(stem) === 1 && isShort(stem) ? `${stem}e` : stem;
}

/** The first rule whose ending the word has decides, whether it then applies or not. */
function replaced(word: string, list: readonly Rule[], fits: (before: string, ending: string) => boolean): string {
  for (const [ending, becomes] of list) {
    if (word.length <= ending.length || !word.endsWith(ending)) continue;
    const before = word.slice(0, -ending.length);
    return fits(before, ending) ? before + becomes : word;
  }
  return word;
}

/** Consonants are 1 and vowels 0; `y` is a vowel behind a consonant. */
function isConsonant(word: string, at: number, behind: boolean): boolean {
  const letter = word.charCodeAt(at);
  const isVowel = letter === 97 || letter === 101 || letter === 105 || letter === 111 || letter === 117;
  return !(isVowel || (letter === 121 && behind));
}

/** Porter's m: the number of times that a consonant follows a vowel. */
function measure(word: string): number {
  let count = 0;
  let behind = false;
  let vowel = false;
  for (let at = 0; at < word.length; at++) {
    behind = isConsonant(word, at, behind);
    if (behind && vowel) count += 1;
    vowel = !behind;
  }
  return count;
}

function hasVowel(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (!isConsonant(word, at, at > 0)) return true;
  return false;
}

/** It ends with consonant, vowel, consonant, and the last one is not w, x or y. */
function isShort(word: string): boolean {
  if (/[wxy]$/.test(word)) return false;
  let mask = 0;
  let behind = false;
  for (let at = 0; at < word.length; at++) {
    behind = isConsonant(word, at, behind);
    mask = ((mask << 1) | (behind ? 1 : 0)) & 7;
  }
  return mask === 5;
}
