import { resolveHttpProxyUrlForTarget } from "belay-pi-ai/utils/node-http-proxy";
import type { Dispatcher } from "undici";
import { RlmError } from "../../runtime/errors.ts";
import { errorCode } from "./errors.ts";

type Fetch = typeof globalThis.fetch;

/** A request that no server answered, because of a redirect, a proxy or a certificate. */
export class OutboundError extends RlmError {
  /** True if the server has certainly not worked on the request. */
  readonly isUnsent: boolean;

  constructor(message: string, suggestion: string, retriable = false, isUnsent = true) {
    super("provider_error", message, { suggestion, retriable });
    this.isUnsent = isUnsent;
  }
}

/**
 * Sends a request by `plain`, through the proxy that the environment names. No redirect is followed: it would take keys and
 * texts to an address that the user has not named. Only the signal of `init` limits the time.
 *
 * @throws OutboundError
 */
export async function fetchOut(plain: Fetch, ...[input, init]: Parameters<Fetch>): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const proxy = proxyFor(url);
  const through = proxy === null ? usualDispatcher() : await dispatcherOf(proxy.href);
  const answer = await plain(input, { ...init, redirect: "manual", ...untimed(through) }).catch((error: unknown) => {
    throw explained(error, url, proxy);
  });
  const location = answer.status > 300 && answer.status < 400 ? answer.headers.get("location") : null;
  const to = URL.parse(location ?? "", url);
  if (location === null || to === null) return answer;
  await answer.body?.cancel();
  const problem = `${shownAddress(url)} redirects to ${shownAddress(to)}, and no redirect is followed`;
  throw new OutboundError(problem, `If you trust ${to.origin}, name it in the base URL.`);
}

/** Handles a failure that stands for no answer. @throws OutboundError if that is the reason, since the user can mend it */
export function nullUnlessOutbound(error: unknown): null {
  if (error instanceof OutboundError) throw error;
  return null;
}

/**
 * The proxy of requests to an address, by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; null: they go there directly, as all to
 * this computer do.
 *
 * @throws OutboundError for a variable that names no proxy
 */
export function proxyFor(url: URL): URL | null {
  if (LOOPBACK.test(url.hostname)) return null;
  try {
    return resolveHttpProxyUrlForTarget(url) ?? null;
  } catch {
    throw new OutboundError(`${variableOf(url)} is not the address of an HTTP proxy`, "Set it to http://HOST:PORT.");
  }
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/;

/** An address without a password and a query, which keys are passed in. */
export function shownAddress({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`.replace(/\/$/, "");
}

/** The variable that names the proxy. */
const variableOf = ({ protocol }: URL) => `${protocol.slice(0, -1).toUpperCase()}_PROXY`;

/** Dispatchers by the address of their proxy: each keeps its connections. */
const dispatchers = new Map<string, Promise<Dispatcher>>();

function dispatcherOf(proxy: string): Promise<Dispatcher> {
  const dispatcher = dispatchers.get(proxy) ?? openDispatcher(proxy);
  dispatchers.set(proxy, dispatcher);
  return dispatcher;
}

/** The `fetch` of Node calls dispatchers in the form of before. */
async function openDispatcher(proxy: string): Promise<Dispatcher> {
  const { Dispatcher1Wrapper, ProxyAgent } = await import("undici");
  return new Dispatcher1Wrapper(new ProxyAgent({ uri: proxy, allowH2: false }));
}

/**
 * Options of a `fetch` that waits for a server as long as its caller does. Node's own ends a request after 300 s without headers,
 * or without a further part of the body.
 *
 * @param dispatcher by which it is sent; null: one that cannot be changed, whose own limits stay
 */
export function untimed(dispatcher = usualDispatcher()): { readonly dispatcher?: Dispatcher } {
  if (dispatcher === null) return {};
  const unlimited = dispatcher.compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  );
  return { dispatcher: unlimited };
}

/** Returns the dispatcher of the process, which a program may have replaced. It is there once `Request` is. */
function usualDispatcher(): Dispatcher | null {
  const dispatcher: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  return isDispatcher(dispatcher) ? dispatcher : null;
}

const isDispatcher = (value: unknown): value is Dispatcher => typeof Object(value).compose === "function";

/** True if a client gave a request up because of a limit of its own. The server may still be working on it. */
export function isClientTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return TIMEOUTS.has(error.name) || TIMEOUTS.has(error.constructor.name) || isClientTimeout(error.cause);
}

/** Those of signals, of `fetch`, and of the SDKs of OpenAI and Anthropic. */
const TIMEOUTS = new Set(["TimeoutError", "HeadersTimeoutError", "BodyTimeoutError", "APIConnectionTimeoutError"]);

/** Codes of a connection that was never made, so that nothing was sent. ETIMEDOUT is of those that were made, too. */
export const UNCONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|UND_ERR_CONNECT_TIMEOUT/;

/** Returns why `fetch` failed: in words if a certificate or the proxy is at fault, else the error as it was. */
function explained(error: unknown, url: URL, proxy: URL | null): unknown {
  const { cause }: { readonly cause?: unknown } = Object(error);
  const reasons = reasonsOf(cause);
  const [untrusted] = UNTRUSTED.exec(reasons) ?? [];
  if (untrusted) return new OutboundError(`the certificate of ${url.host} is not trusted (${untrusted})`, TRUST);
  if (proxy === null || reasons === "") return error;
  const by = `the proxy ${shownAddress(proxy)}`;
  if (reasons.includes("(407)")) return new OutboundError(`${by} wants a user and a password, or other ones`, LOGIN);
  const [unsent] = UNCONNECTED.exec(reasons) ?? NO_TUNNEL.exec(reasons) ?? [];
  const problem = `${by} made no connection to ${url.host} (${unsent ?? errorCode(cause)})`;
  const check = `Check ${variableOf(url)}; a server that needs no proxy belongs in NO_PROXY.`;
  return new OutboundError(problem, check, true, unsent !== undefined);
}

const UNTRUSTED = /(?:DEPTH_ZERO_)?SELF_SIGNED_CERT(?:_IN_CHAIN)?|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF)/;
const NO_TUNNEL = /UND_ERR_PRX_CONN|Proxy response \(\d+\)/;
const TRUST = "Set NODE_EXTRA_CA_CERTS to the file of your company's certificates (PEM), then start again.";
const LOGIN = "Write USER:PASSWORD@ before the host in its variable, with characters such as @ encoded as %40.";

/** Codes and messages of an error and its causes. */
function reasonsOf(error: unknown): string {
  return error instanceof Error ? `${errorCode(error)} ${error.message}\n${reasonsOf(error.cause)}` : "";
}
