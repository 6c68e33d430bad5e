(function answer(guest) {
  // What JSON cannot hold is not a place. The host lists it as such, so it does not undo the answer.
  const placesIn = (cite) => guest.parse(guest.render(cite, "cite", Infinity, () => {}).json);

  guest.builtin("answer", (...args) => {
    const [value, options, ...more] = args;
    if (!guest.isObject(options) || options.cite === undefined) return guest.call("answer", args);
    return guest.call("answer", [value, { ...options, cite: placesIn(options.cite) }, ...more]);
  });
});
