import { connect, createServer, type Socket } from "node:net";

/** A way to a server that can be cut. */
export interface Proxy extends AsyncDisposable {
  /** The URL of the server through it. */
  readonly url: string;
  /**
   * Cuts the connection at the next message to the server that has this word: before it arrives, or after the server has
   * answered, which the client then does not learn.
   */
  cutAt(word: string, when: "before" | "after"): void;
  /** False: new connections, and messages to the server of older ones, are cut. */
  open: boolean;
  /** How often the server has said that it is ready for the next question: round trips, without those of beats. */
  trips: number;
}

/** The head of the message ReadyForQuery. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

/** @param connecting called before a connection is passed on */
export async function startProxy(serverUrl: string, connecting = () => {}): Promise<Proxy> {
  const url = new URL(serverUrl);
  const [host, port] = [url.hostname, Number(url.port)];
  const sockets = new Set<Socket>();
  let cut: { readonly word: string; readonly when: "before" | "after" } | null = null;
  const proxy = { open: true, trips: 0 };
  const server = createServer((client) => {
    if (!proxy.open) return client.destroy();
    connecting();
    const upstream = connect(port, host);
    let swallows = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (data) => {
      if (!proxy.open) return client.destroy();
      if (data.includes("UPDATE leases")) proxy.trips -= 1;
      const isMeant = cut !== null && data.includes(cut.word);
      if (isMeant && cut?.when === "before") {
        cut = null;
        return client.destroy();
      }
      if (isMeant) {
        cut = null;
        swallows = true;
      }
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      for (let at = data.indexOf(READY); at >= 0; at = data.indexOf(READY, at + 1)) proxy.trips += 1;
      if (swallows) client.destroy();
      else client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  url.port = String(address.port);
  return Object.assign(proxy, {
    url: url.href,
    cutAt(word: string, when: "before" | "after") {
      cut = { word, when };
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
