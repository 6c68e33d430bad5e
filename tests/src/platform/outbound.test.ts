import { globSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { Agent, errors, getGlobalDispatcher, ProxyAgent, setGlobalDispatcher } from "undici";
import { expect, onTestFinished, test, vi } from "vitest";
import { ROOT } from "../../../scripts/process.ts";
import { modelsAt } from "../../../src/models/index.ts";
import { fetchOut, isClientTimeout, proxyFor } from "../../../src/platform/outbound.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startProxy } from "../../support/proxy.ts";

function withEnv(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

const failureOf = (url: string) => fetchOut(fetch, url).then(undefined, (error: unknown) => error);

test("a request goes through the proxy with its password, and to this computer directly", async () => {
  await using server = await startModelServer([]);
  const { port } = new URL(server.url);
  await using proxy = await startProxy("serves", Number(port));
  withEnv({ http_proxy: proxy.url });
  const listed = [expect.objectContaining({ id: "local/scripted" })];
  expect(await modelsAt("http://models.example.test/v1", "key")).toEqual(listed);
  expect(proxy.seen).toEqual(["GET http://models.example.test/v1/models"]);
  expect(await modelsAt(server.url, "key")).toEqual(listed);
  expect(proxy.seen).toHaveLength(1);
});

test("a proxy that wants another password, breaks tunnels or is not there is named, without its password", async () => {
  await using serving = await startProxy("serves");
  await using breaking = await startProxy("breaks");
  await using refusing = await startProxy(502);
  const target = "https://models.example.test/v1/models";
  withEnv({ HTTPS_PROXY: serving.address, HTTP_PROXY: serving.address });
  const wanted = `the proxy ${serving.address} wants a user and a password, or other ones`;
  expect(await failureOf(target)).toMatchObject({ message: wanted, isUnsent: true, retriable: false });
  expect(await failureOf("http://models.example.test/v1")).toMatchObject({ message: wanted });
  withEnv({ HTTPS_PROXY: breaking.url });
  expect(await failureOf(target)).toMatchObject({
    message: `the proxy ${breaking.address} made no connection to models.example.test (UND_ERR_PRX_CONN)`,
    suggestion: "Check HTTPS_PROXY; a server that needs no proxy belongs in NO_PROXY.",
    retriable: true,
  });
  expect(breaking.seen).toEqual(["CONNECT models.example.test:443"]);
  withEnv({ HTTPS_PROXY: refusing.url });
  expect(await failureOf(target)).toMatchObject({
    message: expect.stringContaining("(Proxy response (502))"),
    isUnsent: true,
  });
  withEnv({ HTTPS_PROXY: "http://me:pw@127.0.0.1:1" });
  expect(await failureOf(target)).toMatchObject({
    message: "the proxy http://127.0.0.1:1 made no connection to models.example.test (ECONNREFUSED)",
  });
  withEnv({ HTTPS_PROXY: "socks5://me:secret-1@proxy.example:1080" });
  expect(await failureOf(target)).toMatchObject({ message: "HTTPS_PROXY is not the address of an HTTP proxy" });
});

test("NO_PROXY exempts hosts and what is below them", () => {
  withEnv({ https_proxy: "proxy.example:3128", no_proxy: "a.example, .b.example,c.example:8443", NO_PROXY: "" });
  const by = (host: string) => proxyFor(new URL(`https://${host}/v1`))?.href ?? null;
  const hosts = ["a.example", "x.a.example", "x.b.example", "c.example:8443", "localhost", "127.0.0.9:1", "[::1]"];
  expect(hosts.map(by)).toEqual(hosts.map(() => null));
  expect(by("c.example")).toBe("https://proxy.example:3128/");
  withEnv({ no_proxy: "*" });
  expect(by("c.example")).toBeNull();
});

test("a certificate that is not trusted has its cure, and other failures stay as they are", async () => {
  const cause = Object.assign(new Error("self-signed certificate in chain"), { code: "SELF_SIGNED_CERT_IN_CHAIN" });
  const untrusted = fetchOut(() => Promise.reject(new TypeError("fetch failed", { cause })), "https://a.example/");
  await expect(untrusted).rejects.toMatchObject({
    message: "the certificate of a.example is not trusted (SELF_SIGNED_CERT_IN_CHAIN)",
    suggestion: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
  });
  const ended = new DOMException("over", "TimeoutError");
  await expect(fetchOut(() => Promise.reject(ended), "https://a.example/")).rejects.toBe(ended);
  // A connection that was made may end so, too, and the server may have worked on the request.
  withEnv({ HTTPS_PROXY: "http://127.0.0.1:1" });
  const late = new TypeError("fetch failed", { cause: Object.assign(new Error("read"), { code: "ETIMEDOUT" }) });
  const failed = fetchOut(() => Promise.reject(late), "https://a.example/");
  await expect(failed).rejects.toMatchObject({ message: expect.stringContaining("(ETIMEDOUT)"), isUnsent: false });
});

test("no redirect is followed, and the address that it leads to is named without secrets", async () => {
  const server = createServer((_, response) => {
    response.writeHead(307, { location: "http://me:pw@elsewhere.example/v1/models?key=secret" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = Object(server.address());
  const from = `http://127.0.0.1:${port}`;
  await expect(modelsAt(`${from}/v1`, "key")).rejects.toMatchObject({
    code: "provider_error",
    message: `${from}/v1/models redirects to http://elsewhere.example/v1/models, and no redirect is followed`,
    suggestion: "If you trust http://elsewhere.example, name it in the base URL.",
  });
});

const UNTIMED = { headersTimeout: 0, bodyTimeout: 0 };

test("a silent server is waited for as long as the caller says", async () => {
  // The limits of Node's own dispatcher are 300 s.
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 20, bodyTimeout: 20 }));
  onTestFinished(() => void setGlobalDispatcher(before));
  await using server = await startModelServer(() => ({ delayMs: 1200 }));
  const request = { method: "POST", body: JSON.stringify({ messages: [] }) };
  const cut = expect(fetch(server.url, request)).rejects.toMatchObject({ cause: { code: "UND_ERR_HEADERS_TIMEOUT" } });
  expect(await (await fetchOut(fetch, server.url, request)).text()).toContain("[DONE]");
  await cut;
});

test("neither Node's dispatcher nor a proxy's has a limit of its own", async () => {
  await using server = await startModelServer([]);
  const directly = vi.spyOn(Agent.prototype, "dispatch");
  const byProxy = vi.spyOn(ProxyAgent.prototype, "dispatch");
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new Agent());
  onTestFinished(() => {
    setGlobalDispatcher(before);
    vi.restoreAllMocks();
  });
  await (await fetchOut(fetch, server.url)).text();
  expect(directly.mock.calls.map(([options]) => options)).toMatchObject([UNTIMED]);
  await using proxy = await startProxy("serves", Number(new URL(server.url).port));
  withEnv({ http_proxy: proxy.url });
  await (await fetchOut(fetch, "http://models.example.test/v1")).text();
  expect(byProxy.mock.calls.map(([options]) => options)).toMatchObject([UNTIMED]);
});

test("a request that ended by a limit of its client is told from one that never left", () => {
  const late = new TypeError("fetch failed", { cause: new errors.BodyTimeoutError() });
  const unsent = new TypeError("fetch failed", { cause: new errors.ConnectTimeoutError() });
  const overdue = new DOMException("over", "TimeoutError");
  expect([late, overdue, unsent, "late"].map(isClientTimeout)).toEqual([true, true, false, false]);
});

test("every request of the sources goes out by fetchOut", () => {
  const files = globSync("src/**/*.ts", { cwd: ROOT }).filter((file) => !file.startsWith("src/view/page/"));
  const plain = files.filter((file) => /(?<![\w.])fetch\(/.test(readFileSync(join(ROOT, file), "utf8")));
  expect(files.length).toBeGreaterThan(500);
  expect(plain).toEqual([]);
});
