import { scripted } from "../shared/scripted.ts";

/** Looks at P, then searches for the words of the question, then answers with the last place. */
export const scriptFor = (question: string) =>
  scripted({
    [question]: [
      "print(stats().chars, list_docs());\nprint(peek(0, 400));",
      `
const { matches } = find("vault in the customs house opens with \\\\d+");
for (const [start, end] of matches) print(doc_at(start).line, peek(start, end));`,
      `
const last = matches.at(-1);
answer(peek(...last).match(/\\d+$/)[0], { cite: [last] });`,
    ],
  });
