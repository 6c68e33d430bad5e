import { join } from "node:path";
import { openSession } from "../src/index.ts";
import { called, conversationsOf, filler, said, type Talk, talk } from "../tests/support/pi/conversation.ts";
import type { Corpus } from "./corpus.ts";
import { takeTurns, timed } from "./measure.ts";
import type { Case, Report } from "./report.ts";
import { size } from "./size.ts";

const SIZES = size([200, 2000], [10]);

/** A cell of rlm_exec in Pi, next to the same cell without a conversation. None of them reads it. */
export async function benchHistory({ folder, scratch }: Corpus): Promise<Report> {
  const cases: Case[] = [];
  for (const size of SIZES) {
    const self = talk();
    for (let turn = 0; self.branch.length < size; turn++) goOn(self, turn);
    const { at } = conversationsOf(self);
    const open = (name: string) =>
      openSession({ roots: [folder], cwd: folder, store: join(scratch(), name), session: name });
    await using within = await open("within");
    await using without = await open("without");
    let turn = size;
    const measured = await takeTurns(
      [
        {
          name: "Belay",
          async once() {
            goOn(self, turn++);
            self.answer(called(`exec_${turn}`, "rlm_exec"));
            const ms = await timed(async () => {
              await within.exec("1+1", { history: await at(`exec_${turn}`).history() });
            });
            self.result(`exec_${turn}`, "2", "rlm_exec");
            return ms;
          },
        },
        { name: "without a conversation", once: () => timed(() => without.exec("1+1")) },
      ],
      { rounds: 40, warmups: 3 },
    );
    cases.push({ name: `${size} messages`, measured });
  }
  return {
    title: "history: a cell of Pi that does not read the conversation, from the call to its answer",
    cases,
    notes: ["Each call comes a turn after the one before. A turn is a prompt, a read of 1.5 to 6.5 KB and an answer."],
    aims: [],
  };
}

function goOn(self: Talk, turn: number): void {
  self.user(`What is in ${turn}.txt?`);
  self.answer(called(`call_${turn}`));
  self.result(`call_${turn}`, filler(`Zeile ${turn} – täglich`, 1500 + ((turn * 977) % 5000)));
  self.answer(said("It is about foxes and dogs."));
}
