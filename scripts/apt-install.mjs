// Installs Debian packages that tests and checks need, where the system allows it.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

/** Does nothing unless the system is Debian and the user is root. */
export function installFromDebian(name) {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  // With a missing or old package list apt finds no package, or fetches files that are gone.
  if (!install(name) && apt("update")) install(name);
}

/** Installs without starting services: tests must not start a daemon, now or at boot. */
function install(name) {
  const policy = "/usr/sbin/policy-rc.d"; // Debian runs this before a package starts its service
  const isMine = !existsSync(policy);
  if (isMine) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  const isDone = apt("install", "--yes", "--no-install-recommends", name);
  if (isMine) rmSync(policy);
  if (existsSync("/run/systemd/system") && SERVICES.includes(name))
    spawnSync("systemctl", ["disable", name]);
  return isDone;
}

const SERVICES = ["redis-server", "prometheus"];

function apt(...args) {
  const { status } = spawnSync("apt-get", ["--quiet", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 180_000,
  });
  return status === 0;
}

if (import.meta.main && process.argv[2]) installFromDebian(process.argv[2]);
