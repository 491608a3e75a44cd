// Installs what is missing, with any Node.js that npm itself runs on, so that `npm start` and
// `npm test` need no step before them. Plain JavaScript: it runs before our own Node.js is there.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";

const wanted = "package-lock.json";
const installed = "node_modules/.package-lock.json"; // npm writes it last

const isInstalled = () =>
  existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs - 1;

/** A checkout touches the lock file without changing it: compare what both say. */
const saysTheSame = () => {
  if (!existsSync(installed)) return false;
  const want = JSON.parse(readFileSync(wanted, "utf8")).packages;
  const have = JSON.parse(readFileSync(installed, "utf8")).packages;
  return Object.entries(want).every(
    ([path, { version, optional }]) => path === "" || optional || have[path]?.version === version,
  );
};

if (!isInstalled() && !saysTheSame()) {
  console.error("headgate: installing dependencies (once) …");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], {
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
}
