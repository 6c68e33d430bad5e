// Preloaded into a server: its requests print as those of a provider's SDK may, and Node warns.

const send = globalThis.fetch;

globalThis.fetch = (...request) => {
  console.log("log of an SDK");
  console.info("info of an SDK");
  console.debug("debug of an SDK");
  console.dir({ dir: "of an SDK" });
  process.emitWarning("a warning of Node");
  return send(...request);
};
