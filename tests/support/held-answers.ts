import type { Answers } from "../../src/session/sub-calls/port.ts";
import { lengthAnswers } from "./length-answers.ts";

/** Answers that wait until they are let go; `asked` settles with the next prompt, `stopped` when one is called off. */
export function heldAnswers() {
  const stopped = Promise.withResolvers<void>();
  let gate = Promise.withResolvers<void>();
  let asked = Promise.withResolvers<string>();
  const prompts: string[] = [];
  const { answer, ...others } = lengthAnswers();
  const answers: Answers = {
    ...others,
    async answer(call, options) {
      prompts.push(String(call.args[0]));
      asked.resolve(String(call.args[0]));
      const aborted = new Promise<void>((resolve) => options.signal.addEventListener("abort", () => resolve()));
      void aborted.then(stopped.resolve);
      await Promise.race([gate.promise, aborted]);
      return answer(call, options);
    },
  };
  return {
    answers,
    prompts,
    asked: () => asked.promise,
    stopped: () => stopped.promise,
    letGo() {
      gate.resolve();
      gate = Promise.withResolvers();
      asked = Promise.withResolvers();
    },
  };
}
