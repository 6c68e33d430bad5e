import { type Wording, worded, wordedEnvelope } from "../../../runtime/index.ts";

const COMMAND: Wording = {
  load: "load one with `-c PATH`",
  addRoot: "allow the folder with `--root DIR`",
  raiseMemory: "raise `--memory-mb`",
  raiseTime: "raise `--max-execution-ms`",
  resume: "finish it with `belay resume SESSION`",
  discard: "give it up with `--discard` on the next `belay exec -s SESSION`",
  listSessions: "`belay sessions` lists those there are",
  listCheckpoints: "`belay show *` lists them",
  keepSteps: "those within an exec are kept with `--keep-steps`",
  fork: "work on a copy, made with `belay fork *`",
  removeSession: "`belay rm *` drops one",
  verify: "run `belay doctor`",
  moreSections: "let more sections be read with `--max-sections`",
  fewerSections: "ask again with a smaller `--max-sections`",
  moreSubCalls: "raise `--max-sub-calls`",
  renewSession: "`--reload` begins the session's budget anew",
  raiseTokens: "raise `--max-tokens *`",
  raiseDollars: "raise `--max-cost-usd *`",
  anotherRun: "begin another run with `--new`",
  moreBudget: "raise `--max-sub-calls`, `--max-tokens`, `--max-time-ms` or `--max-cost-usd`",
  raiseDepth: "raise `--depth`",
  giveFunction: "continue in the program that lends `*`",
  raiseSpace: "raise `--max-session-mb`",
  raiseContext: "allow it with `--max-context-mb *`",
  folderStore: "name one with `--store FOLDER`",
  raiseFiles: "allow so many with `--max-files *`",
  beginAnew: "begin a new session with `--session NAME`, or load the context again with `--reload`",
  removeHelper: "remove it in a cell with `helpers.remove(*)`",
  addFlags: "add `*` to the command",
  nameModel: "pass `--model PROVIDER/ID`",
  nameModels: "pass `--models *`",
  nameServer: "pass `--base-url URL` for a server of your own",
  setKeyOf: "set *, name the variable that holds the key with `--api-key-env NAME`",
  nameKey: "name the variable that holds the key with `--api-key-env NAME`",
  setKey: "set the key of a provider (*) as a variable",
  login: "run `pi` and its /login",
  tellPrice: "set its price with `--price IN/OUT`",
  checkServer: "check `--base-url`",
  sendNow: "run the same line with `--delivery now`",
  resendDoubtful: "run the same line with `--resend-doubtful`",
  makeAllPhases: "leave out `--only`",
  trustWorkflow: "run `belay workflow * --trust`",
  lendAgent: "add it to `agents` in ~/.belay/config.json, or name another one with `--agent`",
  giveUpCalls: "give the calls up with `--discard` of `belay rm` or `belay jobs rm`",
  thenLoad: "then the same line with `*` in its place",
  ownConverter: "name a converter of your own in `convert` in ~/.belay/config.json",
  correctConverter: "correct `convert.*` in ~/.belay/config.json",
  nameEncoding: "name its encoding, such as `--encoding *`",
  readLossily: "read such bytes as U+FFFD with `--lossy`",
};

/** A suggestion in the words of the command: its flags and subcommands. */
export function inFlags(suggestion: string): string {
  return worded(suggestion, COMMAND);
}

/** An envelope whose suggestion is in the words of the command. */
export const envelopeInFlags = (envelope: object) => wordedEnvelope(envelope, COMMAND);
