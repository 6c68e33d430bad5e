import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";

/** The guard of servers on loopback: a token for one user, and neither other names of this computer nor other origins. */
export function newToken(): string {
  return randomBytes(24).toString("base64url");
}

/** True if the header `Authorization` has the token. The time that it takes says nothing about the token. */
export function bears(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}

/** The header by which a request is not for this server: a page elsewhere, or a name that leads here, sent it. null: none. */
export function foreignHeader({ headers }: Pick<IncomingMessage, "headers">, port: number): "Host" | "Origin" | null {
  const { host = "", origin } = headers;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) return "Host";
  return origin !== undefined && origin !== `http://${host}` ? "Origin" : null;
}

/** Listens on loopback alone. Gives the port; 0 asks for a free one. Rejects with the system's error. */
export async function listenOnLoopback(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}
