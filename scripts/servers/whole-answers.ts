import { createServer } from "node:http";
import { json } from "node:stream/consumers";

/** A server on loopback that asks another for whole answers, whatever it is asked for. */
interface WholeAnswers extends AsyncDisposable {
  /** The base URL, with `/v1`. */
  readonly url: string;
}

/** Starts a server that takes `stream` out of requests, as servers do that do not know it. @param url the other's base URL */
export async function startWholeAnswers(url: string): Promise<WholeAnswers> {
  const server = createServer(async (incoming, response) => {
    const path = (incoming.url ?? "").replace(/^\/v1/, "");
    const { stream, stream_options, ...body } = incoming.method === "POST" ? Object(await json(incoming)) : {};
    const sent =
      incoming.method === "POST"
        ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
        : {};
    const answer = await fetch(`${url}${path}`, sent);
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port }: { readonly port?: unknown } = Object(server.address());
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
