/** A longer text says something beside what comes next. UTF-16 units. */
const MOST_UNITS = 300;

/** Beginnings of sentences with which models say what they do next, in the languages that they say it in. */
const STEPS = new RegExp(
  `^(?:${[
    "(?:(?:ok(?:ay)?|so|now|next|first|then|alright|great)[,.!]?\\s+)*(?:i(?:['’]ll| will| am going to|['’]m going to| need to| should)|let me (?!know\\b)|let['’]s)\\b",
    "ich (?:werde|muss)|(?:als nächstes|nun|jetzt) |lass(?:en sie)? mich",
    "(?:maintenant[, ]*)?je (?:vais|dois)|laissez-moi|ensuite,? je",
    "(?:(?:ahora|a continuación)[, ]*)?(?:voy a|vamos a)|déj[ae]me",
    "(?:(?:agora|a seguir)[, ]*)?(?:vou|vamos) |deixe-me",
    "(?:(?:ora|adesso)[, ]*)?(?:vado a|devo ora)",
    "сейчас я|теперь я|давайте|я сейчас|далее я",
    "接下来|我将|我会|让我|现在我|我先|下一步|我需要|接著|讓我",
    "次に|まず|これから|では、",
    "이제|다음으로|먼저",
  ].join("|")})`,
  "iu",
);

/**
 * True if a text is a step that its model announces, and not an answer: it is short, and its last sentence begins as one does, or
 * it ends with a colon. That is a guess, so the model is asked.
 */
export function announces(text: string): boolean {
  const said = text.trim();
  if (said === "" || said.length > MOST_UNITS || /\n\s*(?:[-*•]|\d+[.)])\s/.test(said)) return false;
  if (/(?:[:：…]|\.\.\.)$/.test(said)) return true;
  const sentences = said.split(/(?<=[.!?])\s+|(?<=[。！？])|\n+/u).filter((part) => part.trim() !== "");
  return STEPS.test(sentences.at(-1)?.trim() ?? "") && !/[?？]$/.test(said);
}
