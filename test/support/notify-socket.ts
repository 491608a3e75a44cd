// systemd's side of its notify protocol: a datagram socket that collects messages. Node.js cannot listen on one, so a
// few lines of Perl do.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const isThere = (command: string): boolean => spawnSync(command, ["--version"]).status === 0;

export const hasSystemdNotify = isThere("systemd-notify") && isThere("perl");

if (!hasSystemdNotify)
  console.warn(
    "systemd-notify or perl is not installed: tests of what systemd is told are skipped",
  );
if (!hasSystemdNotify && process.env["CI"]) throw new Error("these tests need systemd-notify");

/** Prints each datagram as one line, with spaces for its line breaks. */
const LISTEN = `
  use Socket;
  socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die;
  bind($socket, sockaddr_un($ARGV[0])) or die;
  $| = 1;
  print "listening\\n";
  while (defined recv($socket, my $said, 65536, 0)) { $said =~ s/\\n/ /g; print "$said\\n" }
`;

export type NotifySocket = {
  readonly path: string;
  /** The messages in order, without the barriers with which `systemd-notify` waits. */
  readonly told: readonly string[];
  close(): Promise<void>;
};

export async function openNotifySocket(): Promise<NotifySocket> {
  const folder = await mkdtemp(join(tmpdir(), "headgate-notify-"));
  const path = join(folder, "notify");
  const listener = spawn("perl", ["-e", LISTEN, path], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: listener.stdout });
  await once(lines, "line");
  const told: string[] = [];
  lines.on("line", (line) => {
    if (line !== "BARRIER=1") told.push(line);
  });
  const close = async (): Promise<void> => {
    const ended = once(listener, "exit");
    listener.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true });
  };
  return { path, told, close };
}
