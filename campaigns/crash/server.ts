import { type ScriptedAnswer, startModelServer } from "../../tests/support/model-server.ts";

/** A request as it was made: the key says by which process of which run. */
export interface CrashRequest {
  /** Process of the run, from 1. */
  readonly life: number;
  readonly prompt: string;
  /** Whether the answer was whole, and no failure that is sent again. */
  answered: boolean;
}

/** One server for many runs. The answer to a prompt is a function of the prompt; when it comes is chance. */
export interface CrashServer extends AsyncDisposable {
  readonly url: string;
  /** What has been asked in a run so far. */
  requestsOf(run: string): readonly CrashRequest[];
  forget(run: string): void;
}

/** The key for a process of a run: it is how the server knows them apart. */
export function keyOf(run: string, life: number): string {
  return `${run}.${life}`;
}

/**
 * What stands at the end of a prompt directs its answer: `; refuse` a failure, `; busy once` a failure for the run's first
 * request and an answer for the next, `; never` none, `; until TEXT` an answer once the run has asked TEXT.
 */
export async function startCrashServer(delayMs: () => number): Promise<CrashServer> {
  const runs = new Map<string, RunAsked>();
  const runOf = (run: string) => {
    const known = runs.get(run) ?? { requests: [], waiting: [] };
    runs.set(run, known);
    return known;
  };
  const server = await startModelServer(async ({ prompt: text, headers, sent }) => {
    if (sent.includes('"response_format"')) return NO_FORM;
    // A request for JSON says so under the prompt.
    const [prompt = ""] = text.split("\n\nAnswer with JSON only");
    const [run = "", life] = (headers.authorization ?? "").replace("Bearer ", "").split(".");
    const { requests, waiting } = runOf(run);
    const before = requests.some((request) => request.prompt === prompt);
    const request = { life: Number(life), prompt, answered: false };
    requests.push(request);
    for (const wake of waiting.splice(0)) wake();
    const [, directive = "", other = ""] = prompt.match(/; (refuse|busy once|never|until)(?: (.+))?$/) ?? [];
    while (directive === "until" && !requests.some((asked) => asked.prompt.startsWith(other))) {
      await new Promise<void>((wake) => waiting.push(wake));
    }
    const answer = answerTo(prompt, directive, before);
    request.answered = answer.status !== 503 && directive !== "never";
    return { ...answer, delayMs: delayMs() };
  });
  return {
    url: server.url,
    requestsOf: (run) => runs.get(run)?.requests ?? [],
    forget: (run) => runs.delete(run),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** A refusal costs nothing: the call is sent again without the form of its schema. */
const NO_FORM: ScriptedAnswer = { status: 400, body: '{"error":{"message":"response_format is not supported"}}' };

interface RunAsked {
  readonly requests: CrashRequest[];
  /** Wakes of answers that wait for another request. */
  readonly waiting: (() => void)[];
}

function answerTo(prompt: string, directive: string, askedBefore: boolean): ScriptedAnswer {
  switch (directive) {
    case "refuse":
      return { status: 400, body: JSON.stringify({ error: { message: `refused: ${prompt}` } }) };
    case "never":
      return { end: "stuck", text: "" };
    case "busy once":
      if (!askedBefore) return { status: 503 };
      break;
  }
  if (prompt.includes("batch: json")) return { text: JSON.stringify({ n: prompt.length }) };
  return { text: `answer ${digest(prompt)} to ${prompt.slice(0, 60)}`, pieces: 2 };
}

/** FNV-1a, 32 bits. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
