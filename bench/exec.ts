import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { CodemodeSandbox } from "@earendil-works/pi-codemode";
import { getQuickJS } from "quickjs-emscripten";
import { openSession } from "../src/index.ts";
import type { Corpus } from "./corpus.ts";
import { type Contestant, median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";

const EXPECTED = 2;
const MOST_SHARE_OF_CODEMODE = 0.2;

/** A cell in a session that has run cells before, against starting an engine or a context for each. */
export async function benchExec({ folder }: Corpus): Promise<Report> {
  await using session = await openSession({ roots: [folder], cwd: folder });
  await session.load(folder);
  const sandbox = new CodemodeSandbox();
  const quickjs = (await getQuickJS()).newRuntime();
  const echo = new Worker(new URL("./echo.ts", import.meta.url));
  const contestants: Contestant[] = [
    checked("Belay session.exec", async () => {
      const envelope = await session.exec("1+1");
      return envelope.success ? envelope.result_json : envelope.error_message;
    }),
    checked("pi-codemode execute", async () => {
      const result = await sandbox.execute("return 1+1");
      return result.ok ? result.value : result.error.message;
    }),
    checked("quickjs-emscripten", async () => {
      const context = quickjs.newContext();
      const value = context.unwrapResult(context.evalCode("1+1")).consume(context.dump);
      context.dispose();
      return value;
    }),
    checked("empty message to a thread", async () => {
      echo.postMessage(EXPECTED);
      const [reply] = await once(echo, "message");
      return reply;
    }),
  ];
  try {
    const measured = await takeTurns(contestants, { rounds: 200, warmups: 20 });
    const [belay = Number.NaN, codemode = Number.NaN] = measured.map(({ samples }) => median(samples));
    const ratio = belay / codemode;
    return {
      title: "exec: `1+1`, from the call to its answer",
      cases: [{ name: "1+1", measured }],
      notes: [
        "Belay keeps one session over the corpus. pi-codemode keeps one sandbox; each execute starts and ends a thread with an engine.",
        "quickjs-emscripten keeps one runtime and makes a new context for each, in the caller's own thread.",
      ],
      aims: [{ text: "warm exec ≤ 1/5 of codemode", value: ratio.toFixed(3), met: ratio <= MOST_SHARE_OF_CODEMODE }],
    };
  } finally {
    quickjs.dispose();
    await Promise.all([sandbox.close(), echo.terminate()]);
  }
}

/** A contestant that fails if its answer is wrong: what fails quickly must not win. */
function checked(name: string, run: () => Promise<unknown>): Contestant {
  return {
    name,
    async once() {
      let answer: unknown;
      const ms = await timed(async () => {
        answer = await run();
      });
      if (answer !== EXPECTED) throw new Error(`${name} answered ${String(answer)}`);
      return ms;
    },
  };
}
