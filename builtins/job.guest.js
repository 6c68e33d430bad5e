(function job(guest) {
  const frozen = (_key, value) => guest.constant(value)();
  let input = null;
  guest.install("job", () => {
    if (input !== null) return input;
    const text = guest.call("job.text", []);
    if (text !== null) input = guest.parse(text, frozen);
    return input;
  });
});
