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
