import type { Host } from "../env.ts";
import type { HostedOptions } from "../option-types.ts";

// Which options and parts of a session its children have too. Their cells are written by a model that reads what others have
// written. A new option does not compile before its line here says whether they have it.

type Decided<Options> = { readonly [option in keyof Required<Options>]: boolean };

const OPTIONS: Decided<HostedOptions> = {
  cwd: true,
  limits: true,
  memoryMb: true,
  maxSessionMb: true,
  maxContextMb: true,
  maxFiles: true,
  idleMs: true,
  onceWaitMs: true,
  waitForServerMs: true,
  indexDir: true,
  convert: true,
  models: true,
  complete: true,
  baseUrl: true,
  price: true,
  leaveOut: true,
  modelChosen: true,
  thinking: true,
  sampling: true,
  delivery: true,
  concurrency: true,
  maxDepth: true,
  subAgents: true,
  onRestart: true,
  cache: true,
  keepSteps: true,
  // Its budget and its models are handed down.
  budget: false,
  model: false,
  apiKeyEnv: false,
  // It is in the store of its parent, under the name of its call.
  store: false,
  session: false,
  label: false,
  // All that it sees is its P.
  roots: false,
  functions: false,
  // Programs of the user's are for workflows that the user began, and so is what goes with them.
  agents: false,
  agentsDir: false,
  waitsForUser: false,
  reuse: false,
  // Its parent passes on what it says.
  onCheckpoint: false,
  onProgress: false,
};

const PARTS: Decided<Host> = {
  store: true,
  clock: true,
  newId: true,
  random: true,
  machines: true,
  models: true,
  machineEntry: true,
  answers: true,
  signer: true,
  workflows: false,
  run: true,
  suspension: true,
  root: true,
  answered: true,
  recorded: true,
  heldContext: true,
  // It has no agents.
  tokensAreUsual: false,
  // Its own are made for it.
  origin: false,
  above: false,
  excerpt: false,
  settings: false,
  // It is no job, and its questions are those of its parent.
  job: false,
  answersOf: false,
  questions: false,
  leavesNoState: false,
  onTotals: false,
  leased: false,
};

/** The options of a session that a child of it has too. */
export const childOptions = (options: HostedOptions): HostedOptions => chosen(options, OPTIONS);

/** The parts of a session that a child of it has too. */
export const childParts = (host: Host): Host => chosen(host, PARTS);

function chosen<Options extends object>(given: Options, decided: Decided<Options>): Options {
  const kept: Options = { ...given };
  let option: keyof Options;
  for (option in kept) if (!decided[option]) delete kept[option];
  return kept;
}
