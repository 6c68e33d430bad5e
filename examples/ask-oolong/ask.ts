// Counting what only reading can tell: which of 2,000 messages are complaints, and who wrote the most?
//
//   node examples/ask-oolong/ask.ts [--model PROVIDER/ID]
import type { Example } from "../shared/example.ts";
import { main } from "../shared/play.ts";
import { type Complainer, inbox } from "./data.ts";
import { scriptFor } from "./scripted.ts";

const question =
  "Each line is a message of a user. A complaint says that something does not work or went wrong. Which user wrote the most complaints, and how many?";

export const example: Example<Complainer> = {
  question,
  schema: {
    type: "object",
    properties: { user: { type: "string" }, complaints: { type: "integer" } },
    required: ["user", "complaints"],
  },
  make(random) {
    const { text, truth } = inbox(random);
    return { files: { "inbox.txt": text }, truth };
  },
  script: scriptFor(question),
  check({ answer }, { user, complaints }) {
    const given: Complainer = { user: "", complaints: 0, ...Object(answer) };
    return [
      { what: `it is ${user}`, isTrue: given.user === user },
      {
        what: `with ${complaints} complaints, of which ${given.complaints} were counted`,
        isTrue: given.complaints === complaints,
      },
    ];
  },
};

if (import.meta.main) await main(example);
