(function P(guest) {
  let text;
  guest.install("P", () => {
    if (text === undefined) {
      guest.call("P.ready", []);
      text = guest.text("P");
    }
    return text;
  });
  guest.command("P.forget", () => {
    // While it is held here: the host can then see whether anything else holds it.
    guest.call("P.release", []);
    text = undefined;
  });
});
