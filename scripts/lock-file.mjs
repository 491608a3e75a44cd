// Adds to the lock file the packages of other platforms that npm left out: it does so, without a word, where the
// registry lacks them, and `npm ci` refuses such a file everywhere. They have no integrity hash, since nobody has
// seen them. `npm run lock` has npm write the file before; `npm run check` has npm look whether it is whole.
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "package-lock.json";
const lock = JSON.parse(readFileSync(FILE, "utf8"));

const SYSTEMS = /(?:^|[-/])(android|darwin|freebsd|linux|openharmony|sunos|win32)(?=-|$)/;
const PROCESSORS = /(?:^|[-/])(amd64|arm64|arm|ia32|ppc64|riscv64|s390x|wasm32|x64)(?=-|$)/;

const missing = Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {} }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !placesOf(parent, name).some((place) => place in lock.packages))
    .map(([name, range]) => ({ parent, name, range })),
);

for (const one of missing) lock.packages[`node_modules/${one.name}`] = entryOf(one);
const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
lock.packages = Object.fromEntries(sorted);
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);

/** Where Node.js would look for it, from inside out. */
function placesOf(parent, name) {
  const places = [];
  for (let at = parent; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    if (!at.endsWith("node_modules"))
      places.push(`${at === "" ? "" : `${at}/`}node_modules/${name}`);
    if (at === "") return places;
  }
}

function entryOf({ parent, name, range }) {
  // Packages of platforms come with their parent, in one version.
  if (!/^\d+\.\d+\.\d+[\w.+-]*$/.test(range))
    throw new Error(`${parent} wants ${name} ${range}, which is no one version`);
  const { dev } = lock.packages[parent];
  const [, system] = SYSTEMS.exec(name) ?? [];
  const [, processor] = PROCESSORS.exec(name) ?? [];
  const libc = system !== "linux" ? undefined : name.includes("musl") ? "musl" : "glibc";
  return {
    version: range,
    ...(processor && { cpu: [processor === "amd64" ? "x64" : processor] }),
    ...(dev && { dev }),
    ...(libc && { libc: [libc] }),
    optional: true,
    ...(system && { os: [system] }),
  };
}
