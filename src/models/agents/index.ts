/** Programs of the user's that answer calls in place of a model. */
export { schemaWord } from "./command-line.ts";
export { agentModels } from "./model.ts";
export { dropRuns, forgetRun, giveUpAgent, isUnderWay } from "./run.ts";
