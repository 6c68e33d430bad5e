(function llm_query(guest) {
  const define = (name, Parent) => {
    const Class = { [name]: class extends Parent {} }[name];
    Object.defineProperty(Class.prototype, "name", { value: name });
    guest.install(name, guest.constant(Class));
    return Class;
  };
  const SubAgentError = define("SubAgentError", Error);
  for (const name of ["BudgetExceededError", "PolicyViolationError", "SubCallTimeoutError", "ReentrancyError"]) {
    define(name, SubAgentError);
  }
  // A third argument is the batch's business.
  guest.builtin("llm_query", (prompt, options) => guest.callAsync("llm_query", [prompt, options]));
});
