/** Names of files that hold keys or passwords, and of folders that hold such files, in lower case. */
const FILES =
  /^(?:\.env(?:\.(?!example$|sample$|template$|dist$).+)?|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|key)|\.npmrc|\.netrc|_netrc|\.pgpass|\.git-credentials)$/;
const FOLDERS = new Set([".aws", ".ssh", ".gnupg"]);

/** The reason why a load leaves such a file out. */
export const MAY_BE_SECRET = "may contain secrets";

/** True if a file or folder of this path (with `/`) holds keys or passwords by its name. */
export function mayBeSecret(path: string): boolean {
  const names = path.toLowerCase().split("/");
  return FILES.test(names.at(-1) ?? "") || names.some((name) => FOLDERS.has(name));
}
