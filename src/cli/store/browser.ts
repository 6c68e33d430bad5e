import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { temporaryFolder } from "../../platform/make-folder.ts";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  linux: ["xdg-open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Opens a secret address in the user's browser, if there is a display on this computer. The list of processes shows what a
 * program is started with, so the browser is led there by a file of the user's alone. It goes when this is disposed.
 */
export function openBrowser(url: string, env = process.env, platform = process.platform): Disposable | null {
  const [command, ...args] = OPENERS[platform] ?? [];
  const isRemote = env.SSH_CONNECTION !== undefined || env.SSH_TTY !== undefined;
  const hasDisplay = platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  if (command === undefined || isRemote || !hasDisplay) return null;
  const folder = temporaryFolder("belay-view-");
  const file = join(folder.path, "open.html");
  const page = `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}">`;
  writeFileSync(file, page, { mode: 0o600 });
  const opener = spawn(command, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true, env });
  // The address is printed too.
  opener.on("error", () => {});
  opener.unref();
  return folder;
}

/** The line that leads a port of the user's own computer to the address, if the user came by SSH, else null. */
export function tunnelTo(url: string, { SSH_CONNECTION } = process.env): string | null {
  // The client's address and port, then the server's.
  const [, , server] = SSH_CONNECTION?.split(" ") ?? [];
  const { host, port } = new URL(url);
  return server ? `ssh -N -L ${port}:${host} ${server}` : null;
}
