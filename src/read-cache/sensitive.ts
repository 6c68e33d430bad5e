import { basename } from "node:path";

/** Names of files that hold secrets. `*` stands for any characters, and case does not count. */
const NAMES: readonly string[] = [
  ...[".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.crt", "*.cer", "*.der", "*.pk8", "*.kdbx"],
  ...["id_rsa*", "id_ed25519*", "id_ecdsa*", ".npmrc", ".netrc", ".pgpass", ".pypirc", "credentials*", "auth.json"],
];

const FOLDERS: readonly string[] = [".ssh", ".gnupg", ".aws"];

/** True if a file is never looked at, by its name or by a folder that it lies in. */
export function isSensitive(path: string, more: readonly string[]): boolean {
  const name = basename(path).toLowerCase();
  if (path.split(/[/\\]/).some((part) => FOLDERS.includes(part.toLowerCase()))) return true;
  return [...NAMES, ...more].some((pattern) => fits(name, pattern.toLowerCase()));
}

/** True if a name fits a pattern with `*`. The time is bounded by the product of the lengths, whatever the pattern is. */
function fits(name: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  /** Places of the last star, and of what it does not stand for yet. */
  let star = -1;
  let behind = 0;
  while (at < name.length) {
    if (pattern[inPattern] === "*") {
      star = inPattern;
      behind = at;
      inPattern += 1;
    } else if (pattern[inPattern] === name[at]) {
      at += 1;
      inPattern += 1;
    } else if (star >= 0) {
      behind += 1;
      at = behind;
      inPattern = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(inPattern));
}
