export {
  checkObjects,
  checkText,
  type FoundObject,
  isFound,
  type ObjectsRead,
  type ObjectToRead,
  objectsCell,
  type ReadingEstimate,
  type ReadingOptions,
  readingEstimate,
  readObjectsResult,
} from "./objects.ts";
export {
  type QueryNote,
  type QueryOptions,
  queryCell,
  readQueryResult,
  SEARCH_STRATEGIES,
  type SearchStrategy,
} from "./query.ts";
