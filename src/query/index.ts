export {
  type QueryNote,
  type QueryOptions,
  type QueryResult,
  queryCell,
  readQueryResult,
  SEARCH_STRATEGIES,
  type SearchStrategy,
} from "./query.ts";
