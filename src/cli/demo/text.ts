/** The letters that the demo sorts: file names and texts. */
export const LETTERS: Readonly<Record<string, string>> = {
  "01-ada.txt": "The kettle arrived a day early and boils in two minutes. I gave one to my sister as well.",
  "02-bo.txt": "My parcel was two weeks late, and nobody answered the phone. I would like my money back.",
  "03-cem.txt": "Does the small kettle fit on an induction hob? The page does not say.",
  "04-dana.txt": "The lid was broken when I opened the box. Please send a new one.",
  "05-eve.txt": "Thank you for the handwritten card in the parcel. It made my day.",
  "06-finn.txt": "You sent the wrong colour twice. I ordered green, and both times the box said red.",
  "07-gita.txt": "I have had this kettle for nine years now, and it still looks new.",
  "08-hugo.txt": "Can I return a kettle that I bought in the shop by post?",
  "09-ines.txt": "After a month the handle came off, with boiling water inside. I want a refund.",
  "10-jan.txt": "The best tea of my life, every single morning.",
  "11-kim.txt": "Which of your kettles is the quietest? My baby sleeps next to the kitchen.",
  "12-lea.txt": "The invoice shows a price that I never agreed to. Please correct it.",
};

/** The number of answers that are recorded before the demo kills the process. */
export const RECORDED = 5;

/** A cell that looks around, without a model. */
export const EXPLORE =
  '({ letters: list_docs().length, angry: find("refund|money back|wrong|broken").matches.length })';

/** The cell that is killed in the middle. */
export const ASK = `// One question about each letter; then the answers are counted.
const schema = { enum: ["praise", "complaint", "question"] };
const prompts = list_docs().map(({ id }) => "Is this letter praise, a complaint or a question?\\n\\n" + peek_doc(id));
const { results } = await llm_query_batch(prompts, { tools: [], schema });
result = {};
for (const kind of schema.enum) result[kind] = results.filter((answer) => answer === kind).length;
`;

/** The question of `belay demo --ask`. */
export const QUESTION = "How many of the letters are complaints?";

/** The replies of the model that is asked, turn by turn. */
const REPLIES = [
  `I look at the letters first.
\`\`\`js
const letters = list_docs();
print(letters.length, "letters, such as:", peek_doc(letters[1].id));
\`\`\``,
  `A model reads each of them, and code counts.
\`\`\`js
const schema = { enum: ["praise", "complaint", "question"] };
const prompts = letters.map(({ id }) => "Is this letter praise, a complaint or a question?\\n\\n" + peek_doc(id));
const { results } = await llm_query_batch(prompts, { tools: [], schema });
print(results.join(" "));
\`\`\``,
  `Now I can answer.
\`\`\`js
const complaints = letters.filter((_, at) => results[at] === "complaint");
answer(complaints.length, { cite: complaints });
\`\`\``,
];

/** The reply to the question, to what a cell printed, or to the question about a letter. */
export function scriptedReply(prompt: string): string {
  const done = /^\[turn (\d+) of /m.exec(prompt)?.[1];
  const turn = prompt.startsWith(QUESTION) ? 0 : Number(done ?? Number.NaN);
  return REPLIES[turn] ?? scriptedAnswer(prompt);
}

/** The answer of the scripted model, as JSON. It goes by words, as a real model would not. */
export function scriptedAnswer(prompt: string): string {
  const letter = prompt.slice(prompt.indexOf("\n\n"));
  if (letter.includes("?")) return '"question"';
  return /refund|money back|broken|wrong|never agreed/.test(letter) ? '"complaint"' : '"praise"';
}
