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
    text = undefined;
    guest.call("P.release", []);
  });
});
