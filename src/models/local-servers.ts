import { BlockList, isIP } from "node:net";

/** Providers' names that stand for a server on a computer of its user. */
const LOCAL_NAMES = /^(?:local|ollama|lm-?studio|llama[.-]?cpp)$/i;

const PRIVATE = new BlockList();
PRIVATE.addSubnet("127.0.0.0", 8);
PRIVATE.addSubnet("10.0.0.0", 8);
PRIVATE.addSubnet("172.16.0.0", 12);
PRIVATE.addSubnet("192.168.0.0", 16);
PRIVATE.addSubnet("169.254.0.0", 16);
PRIVATE.addAddress("::1", "ipv6");
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addSubnet("fe80::", 10, "ipv6");

/** True for a server on a computer of its user, which may read a long prompt for minutes, by its provider's name or its address. */
export function isLocalServer(provider: string, baseUrl: string | undefined): boolean {
  return LOCAL_NAMES.test(provider) || isPrivateAddress(baseUrl ?? "");
}

/** True for an address of this computer or of a private network: other addresses may be those of a provider. */
export function isPrivateAddress(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname.replace(/^\[|\]$/g, "") ?? "";
  const version = isIP(host);
  if (version > 0) return PRIVATE.check(host, version === 6 ? "ipv6" : "ipv4");
  // A name without a dot is that of a computer or container beside this one.
  return host !== "" && (!host.includes(".") || /\.(?:localhost|local|internal|lan|home\.arpa)$/.test(host));
}
