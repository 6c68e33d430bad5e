export { type WorkflowCell, type WorkflowSettings, workflowCell } from "./cell.ts";
export {
  type AskedWorkflow,
  lentSaved,
  lentSource,
  type RunWorkflowOptions,
  runWorkflow,
  WORKFLOW_BUDGET,
  WORKFLOW_OUTPUT,
} from "./run.ts";
export {
  type FoundWorkflow,
  refuseUntrusted,
  type SavedWorkflow,
  savedWorkflow,
  savedWorkflows,
  trustWorkflow,
  type WorkflowPlaces,
  workflowAt,
} from "./saved.ts";
export { readWorkflow, type WorkflowMeta, type WorkflowScript } from "./script.ts";
export { type ToldWorkflow, workflowInCell } from "./told.ts";
