export { type WorkflowCell, type WorkflowSettings, workflowCell } from "./cell.ts";
export { type WorkflowHost, workflowHost, workflowOptions } from "./host.ts";
export { type RunWorkflowOptions, runWorkflow, WORKFLOW_BUDGET, WORKFLOW_OUTPUT } from "./run.ts";
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
export { readWorkflow, type WorkflowScript } from "./script.ts";
export { workflowInCell } from "./workflow-in-cell.ts";
