import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";

/** How a proxy answers: it serves; it breaks each connection; it answers none; or a status. */
type Manner = "serves" | "breaks" | "silent" | number;

/** A proxy on loopback that wants the user `me` with the password `p@w`. */
export interface ProxyServer extends AsyncDisposable {
  /** Its address with user and password, as in HTTPS_PROXY. */
  readonly url: string;
  readonly address: string;
  /** `CONNECT host:port` and `POST http://host/path`, in the order of arrival. */
  readonly seen: string[];
}

const LOGIN = `Basic ${btoa("me:p@w")}`;

/** @param port of the server on loopback that all names lead to */
export async function startProxy(manner: Manner, port = 0): Promise<ProxyServer> {
  const seen: string[] = [];
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    const { "proxy-authorization": login, ...headers } = incoming.headers;
    if (login !== LOGIN) return void response.writeHead(407, { "proxy-authenticate": "Basic" }).end();
    const { pathname } = new URL(incoming.url ?? "");
    const onward = request({ host: "127.0.0.1", port, path: pathname, method: incoming.method ?? "GET", headers });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  server.on("connect", (incoming, socket) => {
    seen.push(`CONNECT ${incoming.url}`);
    socket.on("error", () => {});
    if (manner === "breaks") return void socket.destroy();
    if (manner === "silent") return;
    const status = incoming.headers["proxy-authorization"] === LOGIN ? manner : 407;
    if (status !== "serves") return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own }: Pick<AddressInfo, "port"> = Object(server.address());
  return {
    url: `http://me:p%40w@127.0.0.1:${own}`,
    address: `http://127.0.0.1:${own}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
