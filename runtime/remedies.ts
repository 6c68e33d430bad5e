/**
 * Cures for failures, in the words of the library. `*` replaces the subject of the remedy, such as
 * a session. Suggestions are made of these phrases, so that the command and hosts of tools can
 * replace each by their own words.
 */
export const REMEDIES = {
  load: "load one with `load()`",
  addRoot: "add the folder to `roots`",
  raiseMemory: "raise `memoryMb`",
  raiseTime: "raise `limits.max_execution_ms`",
  resume: "finish it with `resume()`",
  discard: "give it up with `discard()`",
  listSessions: "`list()` of the store names those there are",
  listCheckpoints: "`describe(*)` of the store lists them",
  keepSteps: "those within an exec are kept with `keepSteps`",
  fork: "work on a copy, made with `fork(*)` of the store",
  removeSession: "`remove(*)` of the store drops one",
  verify: "run `npx belay doctor`",
  moreSections: "let more sections be read with `maxSections`",
  fewerSections: "ask again with a smaller `maxSections`",
  moreSubCalls: "raise `budget.max_sub_calls`",
  moreBudget: "ask for a larger budget",
  renewSession: "load the context again, which begins the session's budget anew",
  raiseTokens: "raise `budget.max_tokens: *`",
  raiseDollars: "raise `budget.max_cost_usd: *`",
  anotherRun: "begin another run",
  raiseDepth: "raise `maxDepth`",
  giveFunction: "pass `functions: { * }` to `openSession`",
  raiseSpace: "raise `maxSessionMb`",
  raiseContext: "allow it with `maxContextMb: *`",
  raiseFiles: "allow so many with `maxFiles: *`",
  folderStore: "name one as `store`",
  beginAnew: "begin a new session, or load the context again with `load()`",
  removeHelper: "remove it with `helpers.remove(*)`",
  addFlags: "continue with `*` in the command",
  nameModel: "set `model` to PROVIDER/ID",
  nameModels: 'name it in `models: ["*"]`',
  nameServer: "set `baseUrl` for a server of your own",
  setKeyOf: "set *, name the variable that holds the key in `apiKeyEnv`",
  nameKey: "name the variable that holds the key in `apiKeyEnv`",
  setKey: "set the key of a provider (*)",
  login: "run pi and /login",
  tellPrice: "set its price in `price`",
  checkServer: "check `baseUrl`",
  sendNow: 'send at once, with `delivery: "now"`',
  resendDoubtful: "make it again with `resendDoubtful`",
  makeAllPhases: "leave out `reuse.only`",
  trustWorkflow: "have the user trust the text of `*`",
  lendAgent: "name it in `agents: { * }`",
  giveUpCalls: "give the calls up with `discard: true`",
  thenLoad: "then load `*`",
  ownConverter: "name a converter of your own in `convert`",
  correctConverter: "correct `*` in `convert`",
  nameEncoding: 'name its encoding, such as `encoding: "*"`',
  readLossily: "read such bytes as U+FFFD with `lossy: true`",
} as const;

type Remedy = keyof typeof REMEDIES;
/** The remedies in other words. */
export type Wording = Readonly<Record<Remedy, string>>;

/** Returns a phrase for a suggestion. */
export function remedy(name: Remedy, subject = "SESSION"): string {
  return REMEDIES[name].replace("*", () => subject);
}

/** Like `remedy`, for the beginning of a sentence. */
export function firstly(name: Remedy, subject?: string): string {
  return capital(remedy(name, subject));
}

/** Returns a suggestion in other words, as far as there are any. */
export function worded(suggestion: string, wording: Partial<Wording>): string {
  let said = suggestion;
  let name: Remedy;
  for (name in REMEDIES) {
    const ours = REMEDIES[name];
    const theirs = wording[name];
    if (theirs === undefined) continue;
    said = said.replaceAll(patternOf(ours), (found, subject: string) => {
      const phrase = theirs.replace("*", () => subject);
      return found.charAt(0) === ours.charAt(0) ? phrase : capital(phrase);
    });
  }
  return said;
}

/** An envelope whose suggestion, and warnings of limits, are in the words of a host. */
export function wordedEnvelope<E extends object>(envelope: E, wording: Partial<Wording>): E {
  const { suggestion, warnings }: { readonly suggestion?: unknown; readonly warnings?: unknown } = envelope;
  const hasCures = Array.isArray(warnings) && warnings.some(namesCure);
  return {
    ...envelope,
    ...(typeof suggestion === "string" ? { suggestion: worded(suggestion, wording) } : {}),
    ...(hasCures ? { warnings: warnings.map((text) => (namesCure(text) ? worded(text, wording) : text)) } : {}),
  };
}

/** True for a warning whose cure is a remedy. Others may have words of the guest. */
const namesCure = (warning: unknown): warning is string =>
  typeof warning === "string" && warning.startsWith("limit_met: ");

/** Finds a phrase, capital or not, and captures what it is about. */
function patternOf(phrase: string): RegExp {
  const [before = "", after] = phrase.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(after === undefined ? `${before}()` : `${before}(.+?)${after}`, "gi");
}

const capital = (phrase: string) => phrase.charAt(0).toUpperCase() + phrase.slice(1);
