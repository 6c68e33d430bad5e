// One line in a log of 5 MB: which code holds at its end?
//
//   node examples/ask-needle/ask.ts [--model PROVIDER/ID]
import type { Example } from "../shared/example.ts";
import { main } from "../shared/play.ts";
import { harbourLog, type Needle } from "./data.ts";
import { scriptFor } from "./scripted.ts";

const question = "Which code opens the vault in the customs house at the end of the log? Cite the line that says so.";

export const example: Example<Needle> = {
  question,
  schema: { type: "string", pattern: "^[0-9]{5}$" },
  make(random) {
    const { text, needle } = harbourLog(random);
    return { files: { "harbour.log": text }, truth: needle };
  },
  script: scriptFor(question),
  check: ({ answer, citations }, { code, line }) => [
    { what: `the code is ${code}`, isTrue: answer === code },
    {
      what: `the source is line ${line} of harbour.log`,
      isTrue: citations.some((cited) => cited.valid && cited.line === line && cited.quote?.includes(code) === true),
    },
  ],
};

if (import.meta.main) await main(example);
