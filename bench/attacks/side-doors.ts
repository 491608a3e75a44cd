// Upgrades, tunnels and broken bytes behind requests that are not answered yet, all in one packet; no key is needed.
import type { Attack, AttackTarget } from "./attack.ts";
import { answerTo, overAndOver, postBytes, upgradeBytes } from "./sockets.ts";

const AT_ONCE = 8;
/** The gateway keeps a connection open whose requests were all right: a new one replaces it. */
const COMES_AGAIN_AFTER_MS = 200;
const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';

export const sideDoors: Attack = {
  name: "side doors",
  run: (target, signal) => {
    const packets = packetsOf(target);
    return overAndOver(AT_ONCE, signal, (turn) =>
      answerTo(
        target,
        packets[turn % packets.length] ?? "",
        AbortSignal.any([signal, AbortSignal.timeout(COMES_AGAIN_AFTER_MS)]),
      ),
    );
  },
};

function packetsOf(target: AttackTarget): readonly Buffer[] {
  const probe = "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n";
  const call = postBytes(target, CALL).toString("latin1");
  const tunnel = "CONNECT elsewhere:80 HTTP/1.1\r\nHost: elsewhere:80\r\n\r\n";
  const trailers = "0\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
  const chunked = `${postBytes(target, "", "Transfer-Encoding: chunked\r\n").toString("latin1").replace("Content-Length: 0\r\n", "")}${trailers}`;
  const upgrades = [upgradeBytes(target), upgradeBytes({ ...target, key: "nobodys-key" })];
  const second = [...upgrades, tunnel, "\u0000\u0001\r\n\r\n", chunked];
  return [probe, call].flatMap((first) =>
    second.map((behind) => Buffer.from(first + behind, "latin1")),
  );
}
