(function session(guest) {
  guest.builtin("session", () => {
    const { budget, limits, ...context } = guest.call("session.host", []);
    return { ...context, ...guest.manifests(), budget, limits };
  });
});
