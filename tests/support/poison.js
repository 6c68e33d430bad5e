// Given to node with --import: a request of the job `poison` ends the process before it is sent.
const { fetch } = globalThis;
globalThis.fetch = async (input, init) => {
  const text = typeof init?.body === "string" ? init.body : "";
  if (text.includes('"poison 0 after')) process.kill(process.pid, "SIGKILL");
  return fetch(input, init);
};
