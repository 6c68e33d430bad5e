(function llm_query_batch(guest) {
  let batches = 0;

  guest.builtin("llm_query_batch", async (prompts, options) => {
    const allowed = guest.call("llm_query_batch.plan", [prompts, options]);
    // As the specification has it, a number is max_concurrent.
    const named = typeof options === "number" ? { max_concurrent: options } : { ...options };
    const { partial, max_concurrent, ...shared } = named;
    const batch = { id: ++batches, max_concurrent };
    const results = [];
    const running = guest.newList();
    for (let i = 0; i < prompts.length; i++) {
      guest.append(results, null);
      if (i < allowed) guest.append(running, answer(results, i, prompts[i], shared, batch));
      else fill(results, i, failure("budget_exceeded", "the budget does not allow this prompt", false));
    }
    for (let i = 0; i < running.length; i++) await running[i];
    return { results, execution_mode: "parallel" };
  });

  async function answer(results, index, item, shared, batch) {
    const { prompt, ...own } = typeof item === "string" ? { prompt: item } : item;
    try {
      fill(results, index, await guest.callAsync("llm_query", [prompt, { ...shared, ...own }, batch]));
    } catch (error) {
      fill(results, index, failure(error.code, error.message, error.retriable === true));
    }
  }

  const failure = (code, message, retriable) => ({ error: { code, message, retriable } });
  const fill = (results, index, value) => guest.put(results, index, value);
});
