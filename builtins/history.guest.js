(function history(guest) {
  const api = { __proto__: null };
  const names = ["list_docs", "peek", "peek_doc", "find", "search", "stats"];
  for (const name of names) api[name] = guest.named(name, (...args) => guest.call(`history.${name}`, args));
  for (const name of names) guest.constant(api[name])();
  guest.install("history", guest.constant({ ...api }));
});
