(function help(guest) {
  // A builtin may be given itself, as in help(find).
  guest.builtin("help", (topic) => guest.call("help.text", [typeof topic === "function" ? topic.name : topic]));
});
