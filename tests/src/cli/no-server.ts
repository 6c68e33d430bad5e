/** Threads are started with the same variables. */
const LISTS_NONE = `if (process.argv.at(-1) === "mcp") {
  console.log('{ "id": 2, "result": { "tools": [] } }');
  process.exit();
}`;

/** Variables by which the server that `belay doctor` starts lists no tools, at once: a real one loads all modules before. */
export const NO_SERVER = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(LISTS_NONE)}` };
