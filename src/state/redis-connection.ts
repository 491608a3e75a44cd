// A connection to one Redis, to the master that Sentinels name, or to a Cluster. It keeps nothing back
// for later: a command that cannot be sent fails, and one whose answer was lost is not sent again,
// since it may have been carried out.
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import type { SharedStateSettings } from "../config/state-settings.ts";
import { type Scripts, scripts } from "./redis-scripts.ts";

export type RedisConnection = Scripts & (Redis | Cluster);

/** Below a second: nobody waits longer for the state. */
const TIMEOUT_MS = 800;

const retryDelayMs = (attempt: number): number => Math.min(250 * 2 ** (attempt - 1), 2000);

/** Begins to connect, and goes on until it is disconnected. */
export function connect(settings: SharedStateSettings): RedisConnection {
  // ioredis adds the scripts as methods, which its types cannot know.
  return clientOf(settings) as unknown as RedisConnection;
}

function clientOf(settings: SharedStateSettings): Redis | Cluster {
  if (settings.kind === "cluster")
    return new Cluster([...settings.hosts], clusterOptions(settings));
  const options: RedisOptions = {
    ...commonOptions(settings),
    db: settings.database,
    enableOfflineQueue: false,
    retryStrategy: retryDelayMs,
    scripts,
  };
  if (settings.kind === "sentinel") return new Redis({ ...options, ...sentinelOptions(settings) });
  return new Redis({ ...options, ...settings.hosts[0] });
}

const commonOptions = ({ user, password, isEncrypted }: SharedStateSettings): RedisOptions => ({
  ...(user === undefined ? {} : { username: user }),
  ...(password === undefined ? {} : { password }),
  ...(isEncrypted ? { tls: {} } : {}),
  connectTimeout: TIMEOUT_MS,
  // Of the greeting after a connection was made; calls have a shorter one of their own.
  commandTimeout: 2 * TIMEOUT_MS,
  // A stopped Redis does not take leave.
  disconnectTimeout: 100,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
  // After a failover the old master refuses to write: another one is behind the same name by now.
  reconnectOnError: (error) => error.message.includes("READONLY"),
});

const sentinelOptions = (
  settings: SharedStateSettings & { readonly kind: "sentinel" },
): RedisOptions => ({
  sentinels: [...settings.hosts],
  name: settings.masterName,
  ...(settings.sentinelPassword === undefined
    ? {}
    : { sentinelPassword: settings.sentinelPassword }),
  ...(settings.isEncrypted ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  sentinelCommandTimeout: TIMEOUT_MS,
  sentinelRetryStrategy: retryDelayMs,
  sentinelReconnectStrategy: retryDelayMs,
  failoverDetector: true,
});

const clusterOptions = (settings: SharedStateSettings): ClusterOptions => ({
  // Of single nodes: commands wait for the moment that connecting takes. For the whole nobody waits (redis-state.ts).
  enableOfflineQueue: true,
  clusterRetryStrategy: retryDelayMs,
  maxRedirections: 5,
  // Zero: what failed has failed. ioredis would send it again.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  slotsRefreshTimeout: TIMEOUT_MS,
  slotsRefreshInterval: 5000,
  // A node that is silent is left, and found again by what the others say of it.
  redisOptions: { ...commonOptions(settings), socketTimeout: TIMEOUT_MS },
  // Certificates are made out to names, so these are not looked up beforehand.
  ...(settings.isEncrypted ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
  scripts,
});
