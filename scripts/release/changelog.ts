// A section of CHANGELOG.md begins with `## 0.2.0 (not released)`, and with `## 0.2.0 - 2026-12-01` once it is released.

/** True for `1.2.3` and `1.2.3-beta.4`. */
export function isVersion(text: string): boolean {
  return /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(text);
}

/**
 * The changelog, in which the section of this version has its date.
 *
 * @throws Error if the newest section is not that of this version, has been released, or is empty
 */
export function cutSection(changelog: string, version: string, date: string): string {
  const newest = /^## (.*)$/m.exec(changelog)?.[1] ?? "";
  if (newest !== `${version} (not released)`) {
    const known = newest === "" ? "it has no section" : `its newest section is "${newest}"`;
    throw new Error(`CHANGELOG.md: ${known}; write what is new under "## ${version} (not released)"`);
  }
  if (sectionOf(changelog, version).split("\n").slice(1).join("").trim() === "")
    throw new Error(`CHANGELOG.md: the section of ${version} is empty; write what is new`);
  return changelog.replace(`## ${version} (not released)`, `## ${version} - ${date}`);
}

/** The section of a version with its heading. @throws Error if there is none */
export function sectionOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const found = sections.find((section) => section.split("\n", 1)[0]?.split(" ")[1] === version);
  if (found === undefined) throw new Error(`CHANGELOG.md has no section of ${version}`);
  return found.trimEnd();
}
