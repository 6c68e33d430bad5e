(function taken(guest) {
  guest.builtin("taken", (name, args) => guest.callAsync(name, args));
});
