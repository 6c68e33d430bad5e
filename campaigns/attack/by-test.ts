/** Listed cases whose set-up is a test's: the file, and a part of the title. */
export const BY_TEST: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "DAT-11": ["tests/src/context/load/roots.test.ts", "a file is read to its size at the open"],
  "DAT-13": ["tests/src/context/load/load.test.ts", "unreadable files and folders are reported"],
  "JRN-12": ["tests/src/pi/lifecycle.test.ts", "state follows the branch"],
  "JRN-14": ["tests/e2e/crash-disk.test.ts", "a full disk: a clear error"],
  "PTH-12": ["tests/src/context/load/roots.test.ts", "a file and its folder that are swapped all the time"],
  "PTH-13": ["tests/src/context/load/roots.test.ts", "a parent folder that was swapped for a symlink"],
  "SNP-08": ["tests/src/store/sqlite.test.ts", "an image of"],
  "SNP-10": ["tests/e2e/crash-faults.test.ts", "whichever operation of the store"],
  "SNP-11": ["tests/src/store/sqlite.test.ts", "a commit is on disk when it resolves"],
  "SNP-14": ["tests/src/session/durable.test.ts", "after a crash the store tells"],
  "SNP-18": ["tests/e2e/crash.test.ts", "kills: what killed and resumed"],
  "SNP-19": ["tests/src/session/clock.test.ts", "a clock that jumps backwards"],
};
